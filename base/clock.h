#ifndef TRIVIUM_BASE_CLOCK_H_
#define TRIVIUM_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace trivium {

// The source of time; tests use a clock that they move by hand. It only goes
// forward, at the pace of seconds: somebody who sets the machine's clock moves
// no deadline. So its times may differ from what the machine's clock says.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
  // Returns that time as the machine's clock says it now: for people, and for
  // other machines.
  virtual absl::Time WallTime(absl::Time time) const { return time; }
  // Waits for `condition` as CondVar::Wait does, at most until `deadline`.
  virtual void WaitUntil(absl::Time deadline, CondVar* condition,
                         Mutex* mutex) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // Begins with the machine's clock at its first use; it lives as long as the
  // process.
  static const Clock* Real();
};

// Clock::Real()->Now().
absl::Time SteadyNow();

}  // namespace trivium

#endif  // TRIVIUM_BASE_CLOCK_H_
