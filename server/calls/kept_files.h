#ifndef TRIVIUM_SERVER_CALLS_KEPT_FILES_H_
#define TRIVIUM_SERVER_CALLS_KEPT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace trivium {

// Files that one call has made and that another fetches; kept in memory for a
// while. Thread-safe.
//
//   const std::string key = files.Keep(text);
//   ... in another call:  files.Find(key)
class KeptFiles {
 public:
  struct Options {
    int64_t most_bytes = 32 << 20;
    size_t most_files = 4096;
    absl::Duration time = absl::Minutes(10);
  };

  KeptFiles(const Options& options, const Clock* clock)
      : options_(options), clock_(clock) {}

  // Returns the file's key: 32 hexadecimal digits that nobody can guess. Drops
  // the oldest files if there is no room. INVALID_ARGUMENT if the file alone is
  // too large.
  absl::StatusOr<std::string> Keep(std::string file);

  // NOT_FOUND if the file never existed or is no longer kept.
  absl::StatusOr<std::shared_ptr<const std::string>> Find(std::string_view key);

 private:
  struct File {
    std::shared_ptr<const std::string> text;
    absl::Time until;
  };

  // Drops files whose time is over, and the oldest until so many bytes and
  // files more fit.
  void MakeRoom(int64_t bytes, size_t files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const Clock* const clock_;
  Mutex mutex_;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, File> files_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> keys_ ABSL_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_KEPT_FILES_H_
