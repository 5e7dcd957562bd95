#include "server/calls/kept_files.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/limits/crypto.h"

namespace trivium {

absl::StatusOr<std::string> KeptFiles::Keep(std::string file) {
  const auto bytes = static_cast<int64_t>(file.size());
  if (bytes > options_.most_bytes) {
    return absl::InvalidArgumentError(
        fmt::format("the file has {} bytes; the server keeps at most {}", bytes,
                    options_.most_bytes));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::string key, NewSecret(16));
  MutexLock lock(&mutex_);
  MakeRoom(bytes, 1);
  bytes_ += bytes;
  keys_.push_back(key);
  files_[key] = {std::make_shared<const std::string>(std::move(file)),
                 clock_->Now() + options_.time};
  return key;
}

absl::StatusOr<std::shared_ptr<const std::string>> KeptFiles::Find(
    std::string_view key) {
  MutexLock lock(&mutex_);
  MakeRoom(0, 0);
  const auto file = files_.find(std::string(key));
  if (file != files_.end()) return file->second.text;
  return absl::NotFoundError(
      fmt::format("there is no such file; files are kept for at most {}",
                  absl::FormatDuration(options_.time)));
}

void KeptFiles::MakeRoom(int64_t bytes, size_t files) {
  const absl::Time now = clock_->Now();
  while (!keys_.empty()) {
    const auto oldest = files_.find(keys_.front());
    const bool full = bytes_ + bytes > options_.most_bytes ||
                      keys_.size() + files > options_.most_files;
    if (oldest->second.until > now && !full) return;
    bytes_ -= static_cast<int64_t>(oldest->second.text->size());
    files_.erase(oldest);
    keys_.pop_front();
  }
}

}  // namespace trivium
