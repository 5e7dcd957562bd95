#ifndef TRIVIUM_SERVER_OBSERVABILITY_REFUSAL_LOG_H_
#define TRIVIUM_SERVER_OBSERVABILITY_REFUSAL_LOG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace trivium {

// Tells the log, at info, of calls that the server refused for want of room or
// time, or because it stops: of the first at once, of the others with their
// number once a second, by the next call that ends. Thread-safe.
class RefusalLog {
 public:
  // `last`: the last one's error.
  using Writer = std::function<void(int64_t calls, const std::string& last)>;

  RefusalLog();
  explicit RefusalLog(Writer write) : write_(std::move(write)) {}
  // Tells of those that were not told of.
  ~RefusalLog();

  // A call was refused.
  void Count(absl::Time now, std::string error);
  // Another one ended.
  void Tick(absl::Time now);

 private:
  void Tell(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Writer write_;
  Mutex mutex_;
  int64_t untold_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_ ABSL_GUARDED_BY(mutex_);
  absl::Time told_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_REFUSAL_LOG_H_
