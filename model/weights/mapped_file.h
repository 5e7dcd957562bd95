#ifndef TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "model/weights/truncation_guard.h"

namespace trivium {

// A whole file, mapped read-only for as long as this object lives. Whoever
// changes it meanwhile spoils what is read (so replace weights by renaming a
// new file over the old one), but cannot end the process: what is cut off reads
// as zeros. So what was made of the bytes counts only if CheckUnchanged() says
// so afterwards.
class MappedFile {
 public:
  // Errors are InputFile::Open's; INVALID_ARGUMENT when it is empty or
  // cannot be mapped.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(
      const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), file_.size()};
  }
  // INVALID_ARGUMENT when the file was cut short, grew or was written to since
  // it was opened.
  absl::Status CheckUnchanged() const;

 private:
  MappedFile(const std::string& path, InputFile file, void* data);

  const std::string path_;
  const InputFile file_;
  void* const data_;
  const TruncationGuard guard_;
  int64_t modified_ = 0;  // ns
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_
