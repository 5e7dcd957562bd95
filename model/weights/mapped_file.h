#ifndef TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "model/weights/truncation_guard.h"

namespace trivium {

// A whole file, mapped read-only while this object lives. If someone changes
// the file meanwhile, the bytes read are wrong, but the process survives:
// truncated parts read as zeros. So results count only if CheckUnchanged()
// succeeds afterwards. (Replace weights by renaming a new file over the old
// one.)
class MappedFile {
 public:
  // Errors are InputFile::Open's, and INVALID_ARGUMENT if the file is empty or
  // cannot be mapped.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(
      const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data_), file_.size()};
  }
  // The time of the file's last modification when it was opened, in ns.
  int64_t modified() const { return modified_; }
  // Has the system read the file ahead. Only a hint, for those who will read
  // nearly all of it.
  void ReadAhead() const;
  // Returns INVALID_ARGUMENT if the file was truncated, has grown or was
  // written to since it was opened.
  absl::Status CheckUnchanged() const;

 private:
  MappedFile(const std::string& path, InputFile file, void* data);

  const std::string path_;
  const InputFile file_;
  void* const data_;
  const TruncationGuard guard_;
  int64_t modified_ = 0;  // ns
};

// Returns a file's part of Weights::Origin.
std::string OriginOf(const MappedFile& file);

// Maps the pages of `bytes`, a part of a mapped file, at once. That is faster
// than one after the other as they are read.
void MapPages(std::span<const std::byte> bytes);

// Takes the whole pages of `bytes` out of this process's memory, if they are in
// a mapped file; does nothing to other bytes. The system may keep the file's
// pages in its cache, and the next read maps them again. For bytes that have
// been packed into another form, so that memory does not hold both.
void DropPages(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_MAPPED_FILE_H_
