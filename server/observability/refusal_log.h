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

// Logs, at info, calls that the server refused for lack of room or time, or
// because it stops. The first is logged at once; the next ones as a number, at
// most once a second, when the next call ends. Thread-safe.
class RefusalLog {
 public:
  // `last`: the error of the last refused call.
  using Writer = std::function<void(int64_t calls, const std::string& last)>;

  RefusalLog();
  explicit RefusalLog(Writer write) : write_(std::move(write)) {}
  // Logs the rest.
  ~RefusalLog();

  // A call was refused.
  void Count(absl::Time now, std::string error);
  // A call ended without being refused.
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
