#include "base/clock.h"

#include <algorithm>
#include <chrono>

#include "absl/time/clock.h"

namespace trivium {

const Clock* Clock::Real() {
  class RealClock : public Clock {
   public:
    absl::Time Now() const override {
      return begin_ +
             absl::FromChrono(std::chrono::steady_clock::now() - steady_begin_);
    }
    absl::Time WallTime(absl::Time time) const override {
      return absl::Now() + (time - Now());
    }
    void WaitUntil(absl::Time deadline, CondVar* condition,
                   Mutex* mutex) const override
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      if (deadline == absl::InfiniteFuture()) return condition->Wait(mutex);
      condition->WaitFor(mutex,
                         std::max(deadline - Now(), absl::Milliseconds(1)));
    }

   private:
    const absl::Time begin_ = absl::Now();
    const std::chrono::steady_clock::time_point steady_begin_ =
        std::chrono::steady_clock::now();
  };
  static const RealClock* clock = new RealClock;
  return clock;
}

absl::Time SteadyNow() { return Clock::Real()->Now(); }

}  // namespace trivium
