#ifndef TRIVIUM_BASE_FILE_H_
#define TRIVIUM_BASE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// A regular file that is open for reading; closed with this object. Every file
// of a model folder is opened here: a pipe, a device or a folder in a file's
// place is refused, and neither waited for nor read without end.
class InputFile {
 public:
  // NOT_FOUND when there is no such file; INVALID_ARGUMENT when it is no
  // regular file or cannot be opened.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  int descriptor() const { return descriptor_; }
  // In bytes, when it was opened.
  size_t size() const { return size_; }

 private:
  InputFile(int descriptor, size_t size)
      : descriptor_(descriptor), size_(size) {}

  int descriptor_;  // -1: moved from
  size_t size_;
};

// More than any vocabulary, list of merges or tokenizer.json that is published.
inline constexpr size_t kMaxTextFileBytes = size_t{128} << 20;

// The contents of a file of at most `most` bytes. Errors are Open's, and
// INVALID_ARGUMENT when it is larger or is cut short meanwhile.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t most = kMaxTextFileBytes);

}  // namespace trivium

#endif  // TRIVIUM_BASE_FILE_H_
