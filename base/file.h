#ifndef TRIVIUM_BASE_FILE_H_
#define TRIVIUM_BASE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// A regular file that is open for reading; the destructor closes it. Every file
// of a model folder is opened here: a pipe, device or folder in place of a file
// is refused, so nothing waits for it or reads it without end.
class InputFile {
 public:
  // Returns NOT_FOUND if there is no such file, INVALID_ARGUMENT if it is not a
  // regular file or cannot be opened.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  int descriptor() const { return descriptor_; }
  // The size in bytes at the time of Open.
  size_t size() const { return size_; }

 private:
  InputFile(int descriptor, size_t size)
      : descriptor_(descriptor), size_(size) {}

  int descriptor_;  // -1: moved from
  size_t size_;
};

// More than the size of any published vocabulary, list of merges or
// tokenizer.json.
inline constexpr size_t kMaxTextFileBytes = size_t{128} << 20;

// Reads a file of at most `most` bytes. Errors are Open's, and INVALID_ARGUMENT
// if the file is larger or is truncated meanwhile.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t most = kMaxTextFileBytes);

}  // namespace trivium

#endif  // TRIVIUM_BASE_FILE_H_
