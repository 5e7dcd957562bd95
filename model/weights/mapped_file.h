#ifndef TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// A whole file, mapped read-only for as long as this object lives. The file
// must not be cut short meanwhile: reading beyond its new end would raise
// SIGBUS, so replace weights by renaming a new file over the old one.
class MappedFile {
 public:
  // NOT_FOUND when there is no such file; INVALID_ARGUMENT when it is no
  // regular file, is empty or cannot be read.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(
      const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* const data_;
  const size_t size_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_
