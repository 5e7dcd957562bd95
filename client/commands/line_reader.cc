#include "client/commands/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "base/status.h"
#include "client/commands/io.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr size_t kMaxLine = 64 << 20;
constexpr size_t kChunk = 64 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::Open(
    const std::string& path, int standard_input) {
  const bool owns_file = path != "-";
  const int file =
      owns_file ? open(path.c_str(), O_RDONLY | O_CLOEXEC) : standard_input;
  const std::string name = owns_file ? path : "standard input";
  if (file < 0) return IoError("read", name.c_str(), errno);
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    const int error = errno;
    if (owns_file) close(file);
    return IoError("wait for", name.c_str(), error);
  }
  return std::unique_ptr<LineReader>(
      new LineReader(name, file, owns_file, wake));
}

LineReader::LineReader(std::string name, int file, bool owns_file, int wake)
    : name_(std::move(name)), file_(file), owns_file_(owns_file), wake_(wake) {}

LineReader::~LineReader() {
  if (owns_file_) close(file_);
  close(wake_);
}

absl::StatusOr<std::optional<std::string>> LineReader::Next() {
  size_t searched = begin_;
  while (true) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos || at_end_) {
      if (at_end_ && begin_ == buffer_.size()) return std::nullopt;
      const size_t stop = std::min(end, buffer_.size());
      std::string line = buffer_.substr(begin_, stop - begin_);
      begin_ = std::min(stop + 1, buffer_.size());
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    if (buffer_.size() - begin_ > kMaxLine) {
      return absl::InvalidArgumentError(fmt::format(
          "{} has a line of more than 64 MiB: is it a text file?", name_));
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    TRIVIUM_ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) at_end_ = true;
  }
}

absl::StatusOr<bool> LineReader::Fill() {
  pollfd files[] = {{file_, POLLIN, 0}, {wake_, POLLIN, 0}};
  while (poll(files, 2, -1) < 0) {
    if (errno != EINTR) return IoError("read", name_.c_str(), errno);
  }
  if (files[1].revents != 0) {
    buffer_.clear();
    return false;
  }
  const size_t size = buffer_.size();
  buffer_.resize(size + kChunk);
  ssize_t got;
  do {
    got = read(file_, buffer_.data() + size, kChunk);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(size + std::max<ssize_t>(got, 0));
  if (got < 0) return IoError("read", name_.c_str(), errno);
  return got > 0;
}

bool LineReader::Ready() const {
  if (at_end_ || buffer_.find('\n', begin_) != std::string::npos) return true;
  pollfd file = {file_, POLLIN, 0};
  return poll(&file, 1, 0) > 0;
}

void LineReader::Interrupt() {
  const uint64_t one = 1;
  // Fails only after 2^64 interrupts, and then wake_ is readable already.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
}

int64_t CountLines(const std::string& path) {
  struct stat about;
  if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return 0;
  std::ifstream file(path, std::ios::binary);
  std::string chunk(kChunk, '\0');
  int64_t lines = 0;
  char last = '\n';
  while (file.read(chunk.data(), chunk.size()), file.gcount() > 0) {
    const auto end = chunk.begin() + file.gcount();
    lines += std::count(chunk.begin(), end, '\n');
    last = *(end - 1);
  }
  return last == '\n' ? lines : lines + 1;
}

}  // namespace trivium
