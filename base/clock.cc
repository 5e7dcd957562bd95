#include "base/clock.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace trivium {

const Clock* Clock::Real() {
  class RealClock : public Clock {
   public:
    absl::Time Now() const override { return absl::Now(); }
    void WaitUntil(absl::Time deadline, CondVar* condition,
                   Mutex* mutex) const override
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      if (deadline == absl::InfiniteFuture()) return condition->Wait(mutex);
      condition->WaitFor(mutex,
                         std::max(deadline - Now(), absl::Milliseconds(1)));
    }
  };
  static const RealClock* clock = new RealClock;
  return clock;
}

}  // namespace trivium
