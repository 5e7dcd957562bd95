// PackedFile::Write: the pieces go to PATH.tmp, whose lock shows whether
// another process is writing it. A process that ends meanwhile leaves the file
// behind without a lock, for the next writer to begin anew.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/open_file.h"
#include "base/status.h"
#include "model/weights/packed_file.h"
#include "model/weights/packed_hash.h"
#include "model/weights/packed_layout.h"

namespace trivium {
namespace {

absl::Status SystemError(const std::string& path, std::string_view what) {
  return absl::UnavailableError(
      fmt::format("{}: cannot be {} ({})", path, what, std::strerror(errno)));
}

// The temporary file, open and locked. The destructor removes it, unless it was
// renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    if (file_ < 0) return;
    if (locked_) unlink(path_.c_str());
    close(file_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Returns ABORTED if another process has the lock.
  absl::Status Open() {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                 S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    if (file_ < 0) return SystemError(path_, "written");
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) return Busy();
    // Another process may have renamed the file before it gave up the lock.
    // Then this is the whole file, which must not be touched.
    if (!IsAt(file_, path_)) return Busy();
    locked_ = true;
    if (ftruncate(file_, 0) != 0) return SystemError(path_, "written");
    return absl::OkStatus();
  }

  absl::Status Write(std::span<const std::byte> bytes, size_t at) {
    errno = WriteAllAt(file_, bytes, static_cast<int64_t>(at));
    return errno == 0 ? absl::OkStatus() : SystemError(path_, "written");
  }

  // Nobody writes to the file from now on.
  absl::Status Rename(const std::string& to) {
    struct stat status = {};
    if (fstat(file_, &status) != 0 ||
        fchmod(file_, status.st_mode & (S_IRUSR | S_IRGRP | S_IROTH)) != 0 ||
        rename(path_.c_str(), to.c_str()) != 0) {
      return SystemError(to, "written");
    }
    locked_ = false;  // there is nothing to remove
    return absl::OkStatus();
  }

 private:
  absl::Status Busy() const {
    return absl::AbortedError(
        fmt::format("{}: another process is writing it", path_));
  }

  const std::string path_;
  int file_ = -1;
  bool locked_ = false;
};

}  // namespace

absl::Status PackedFile::Write(const std::string& path, const Key& key,
                               std::span<const PackedPiece> pieces) {
  std::vector<PackedEntry> entries;
  size_t size = 0;  // of the data
  for (const PackedPiece& piece : pieces) {
    const bool large = piece.bytes.size() >= kPackedPage;
    size = RoundUpTo(large ? kPackedPage : kPackedLine, size);
    entries.push_back({piece.id, size, piece.bytes.size()});
    size += piece.bytes.size();
  }
  const size_t blocks = (size + kBlock - 1) / kBlock;
  const size_t data = RoundUpTo(
      kPackedPage, sizeof(PackedHead) + entries.size() * sizeof(PackedEntry) +
                       (blocks + 1) * sizeof(uint64_t));
  for (PackedEntry& entry : entries) entry.offset += data;
  const PackedHead head = {.magic = kPackedMagic,
                           .key_high = key.high,
                           .key_low = key.low,
                           .size = data + size,
                           .pieces = entries.size(),
                           .data = data};

  TemporaryFile file(path + ".tmp");
  TRIVIUM_RETURN_IF_ERROR(file.Open());
  BlockHashes hashes(kBlock);
  size_t at = data;
  const auto write = [&](std::span<const std::byte> bytes) {
    hashes.Add(bytes);
    at += bytes.size();
    return file.Write(bytes, at - bytes.size());
  };
  constexpr std::array<std::byte, kPackedPage> kZeros = {};
  for (size_t i = 0; i < entries.size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(
        write(std::span(kZeros).first(entries[i].offset - at)));
    TRIVIUM_RETURN_IF_ERROR(write(pieces[i].bytes));
  }
  std::vector<std::byte> front;
  const auto add = [&front](std::span<const std::byte> bytes) {
    front.insert(front.end(), bytes.begin(), bytes.end());
  };
  add(std::as_bytes(std::span(&head, 1)));
  add(std::as_bytes(std::span(entries)));
  add(std::as_bytes(std::span(hashes.Finish())));
  const uint64_t head_hash = HashOf(front);
  add(std::as_bytes(std::span(&head_hash, 1)));
  TRIVIUM_RETURN_IF_ERROR(file.Write(front, 0));
  return file.Rename(path);
}

}  // namespace trivium
