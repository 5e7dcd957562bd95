#include "base/open_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace trivium {

bool IsAt(int descriptor, const std::string& path) {
  struct stat open_one, named;
  return fstat(descriptor, &open_one) == 0 && stat(path.c_str(), &named) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

int WriteAllAt(int descriptor, std::span<const std::byte> bytes, int64_t at) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    at += written;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace trivium
