#include "model/weights/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

// Returns the modification time in nanoseconds.
int64_t ModifiedAt(const struct stat& status) {
  return status.st_mtim.tv_sec * int64_t{1'000'000'000} +
         status.st_mtim.tv_nsec;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(
    const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  if (file.size() == 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is empty; fetch it again", path));
  }
  void* data =
      mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) {
    return absl::InvalidArgumentError(
        fmt::format("{}: cannot be mapped ({})", path, std::strerror(errno)));
  }
  std::unique_ptr<MappedFile> mapped(
      new MappedFile(path, std::move(file), data));
  if (!mapped->guard_.active()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: more than 1024 files of weights are open at once; store the "
        "weights in fewer files",
        path));
  }
  TRIVIUM_RETURN_IF_ERROR(mapped->CheckUnchanged());
  return mapped;
}

MappedFile::MappedFile(const std::string& path, InputFile file, void* data)
    : path_(path),
      file_(std::move(file)),
      data_(data),
      guard_(data, file_.size()) {
  struct stat status = {};
  fstat(file_.descriptor(), &status);
  modified_ = ModifiedAt(status);
}

MappedFile::~MappedFile() { munmap(data_, file_.size()); }

void MappedFile::ReadAhead() const {
  madvise(data_, file_.size(), MADV_WILLNEED);
}

absl::Status MappedFile::CheckUnchanged() const {
  struct stat status = {};
  if (!guard_.cut_short() && fstat(file_.descriptor(), &status) == 0 &&
      static_cast<size_t>(status.st_size) == file_.size() &&
      ModifiedAt(status) == modified_) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "{}: was changed while it was read; load it again when it is complete, "
      "and replace it by renaming a new file over it",
      path_));
}

std::string OriginOf(const MappedFile& file) {
  return fmt::format("{} bytes of {}\n", file.bytes().size(), file.modified());
}

void MapPages(std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t misaligned = reinterpret_cast<uintptr_t>(bytes.data()) % page;
  // Only a hint. Linux before 5.14 does not know it.
  madvise(const_cast<std::byte*>(bytes.data()) - misaligned,
          bytes.size() + misaligned, MADV_POPULATE_READ);
#endif
}

void DropPages(std::span<const std::byte> bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (!TruncationGuard::Guards(bytes.data(), bytes.size())) return;
  const size_t misaligned = reinterpret_cast<uintptr_t>(bytes.data()) % page;
  const size_t before = misaligned == 0 ? 0 : page - misaligned;
  if (bytes.size() < before + page) return;
  const size_t size = (bytes.size() - before) / page * page;
  // The mapping is never written to, so its pages are those of the file.
  madvise(const_cast<std::byte*>(bytes.data()) + before, size, MADV_DONTNEED);
}

}  // namespace trivium
