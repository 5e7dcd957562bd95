#include "model/weights/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace trivium {
namespace {

absl::Status Problem(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, what));
}

}  // namespace

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(
    const std::string& path) {
  // O_NONBLOCK: a pipe in the file's place must not hang the process.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return absl::NotFoundError(fmt::format("{}: no such file", path));
    }
    return Problem(path, fmt::format("cannot be opened ({}); check its "
                                     "permissions",
                                     std::strerror(errno)));
  }
  struct stat status;
  absl::Status problem = absl::OkStatus();
  void* data = MAP_FAILED;
  if (fstat(file, &status) != 0) {
    problem = Problem(path, std::strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    problem = Problem(path, "is not a regular file");
  } else if (status.st_size == 0) {
    problem = Problem(path, "is empty; fetch it again");
  } else {
    data = mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
      problem = Problem(
          path, fmt::format("cannot be mapped ({})", std::strerror(errno)));
    }
  }
  close(file);
  if (!problem.ok()) return problem;
  // A hint only: read ahead, since packing touches nearly every page.
  madvise(data, status.st_size, MADV_WILLNEED);
  return std::unique_ptr<MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), status.st_size));
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(data_), size_); }

}  // namespace trivium
