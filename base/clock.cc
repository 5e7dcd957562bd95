#include "base/clock.h"

#include "absl/time/clock.h"

namespace trivium {

const Clock* Clock::Real() {
  class RealClock : public Clock {
   public:
    absl::Time Now() const override { return absl::Now(); }
  };
  static const RealClock* clock = new RealClock;
  return clock;
}

}  // namespace trivium
