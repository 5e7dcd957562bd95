#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

absl::Status Problem(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, what));
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not block the process.
  const int descriptor =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return absl::NotFoundError(fmt::format("{}: no such file", path));
    }
    return Problem(path, fmt::format("cannot be opened ({}); check its "
                                     "permissions",
                                     std::strerror(errno)));
  }
  InputFile file(descriptor, 0);
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    return Problem(path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return Problem(path, "is not a regular file; put the file itself there");
  }
  file.size_ = static_cast<size_t>(status.st_size);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most) {
  TRIVIUM_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.size() > most) {
    return Problem(path,
                   fmt::format("has {} bytes, but at most {} are allowed; "
                               "check that it is the right one",
                               file.size(), most));
  }
  std::string contents(file.size(), '\0');
  for (size_t done = 0; done < contents.size();) {
    const ssize_t count =
        read(file.descriptor(), contents.data() + done, contents.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Problem(path,
                     fmt::format("cannot be read ({})", std::strerror(errno)));
    }
    if (count == 0) {
      return Problem(path, "was cut short while it was read; try again");
    }
    done += static_cast<size_t>(count);
  }
  return contents;
}

}  // namespace trivium
