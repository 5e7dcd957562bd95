#ifndef TRIVIUM_BASE_OPEN_FILE_H_
#define TRIVIUM_BASE_OPEN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace trivium {

// Functions on open descriptors, for code that writes files.

// True if the open file or folder is the one that has the name `path` now:
// another program may have renamed or removed it before this one got its lock.
bool IsAt(int descriptor, const std::string& path);

// Writes all `bytes` from byte `at` of the file on. Returns 0, or an errno.
int WriteAllAt(int descriptor, std::span<const std::byte> bytes, int64_t at);

}  // namespace trivium

#endif  // TRIVIUM_BASE_OPEN_FILE_H_
