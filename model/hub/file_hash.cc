#include "model/hub/file_hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

namespace trivium {

struct FileHash::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

FileHash::FileHash(Kind kind, int64_t size)
    : kind_(kind), size_(size), state_(std::make_unique<State>()) {
  Restart();
}

FileHash::~FileHash() = default;

void FileHash::Restart() {
  EVP_DigestInit_ex(state_->context.get(),
                    kind_ == kSha256 ? EVP_sha256() : EVP_sha1(), nullptr);
  if (kind_ == kGitBlob) Add(fmt::format("blob {}", size_) + '\0');
}

void FileHash::Add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

// If OpenSSL failed before, for instance without SHA-1 by policy, the result is
// empty or wrong, and no file has it.
std::string FileHash::Hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(state_->context.get(), digest, &size) != 1) return "";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i)
    hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace trivium
