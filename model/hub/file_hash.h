#ifndef TRIVIUM_MODEL_HUB_FILE_HASH_H_
#define TRIVIUM_MODEL_HUB_FILE_HASH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace trivium {

// The hash that a hub tells of a file, computed while its bytes arrive: SHA-256
// of a file in LFS, else the SHA-1 of git's blob, which is that of
// "blob SIZE\0" and the bytes (git hash-object).
class FileHash {
 public:
  enum Kind { kSha256, kGitBlob };

  // `size`: of the whole file.
  FileHash(Kind kind, int64_t size);
  ~FileHash();

  // Forgets what was added.
  void Restart();
  void Add(std::string_view bytes);
  // Returns the hash of what was added, in lower-case hex. Nothing can be added
  // until Restart.
  std::string Hex();

 private:
  struct State;

  const Kind kind_;
  const int64_t size_;
  const std::unique_ptr<State> state_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_FILE_HASH_H_
