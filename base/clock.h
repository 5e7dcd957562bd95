#ifndef TRIVIUM_BASE_CLOCK_H_
#define TRIVIUM_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace trivium {

// The source of time; tests use a clock that they move by hand.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
  // Waits for `condition` as CondVar::Wait does, at most until `deadline`.
  virtual void WaitUntil(absl::Time deadline, CondVar* condition,
                         Mutex* mutex) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // The machine's clock; it lives as long as the process.
  static const Clock* Real();
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_CLOCK_H_
