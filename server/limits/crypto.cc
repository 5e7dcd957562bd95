#include "server/limits/crypto.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "absl/strings/escaping.h"

namespace trivium {

Sha256 Sha256Of(std::string_view text) {
  Sha256 hash;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         hash.data());
  return hash;
}

bool EqualInConstantTime(const Sha256& a, const Sha256& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

absl::StatusOr<std::string> NewSecret(size_t bytes) {
  std::string secret(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()),
                 static_cast<int>(bytes)) != 1) {
    return absl::InternalError("the system has no random numbers");
  }
  return absl::BytesToHexString(secret);
}

}  // namespace trivium
