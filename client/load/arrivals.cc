#include "client/load/arrivals.h"

#include <cmath>

namespace trivium {

// The expected number of calls grows by
//   from * t                                 while the rate is flat,
//   from * t + (to - from) * t^2 / (2 ramp)  during the ramp,
//   to * t                                   after it,
// where t counts from the beginning of each phase.
absl::Duration RateCurve::TimeOf(double calls) const {
  const double flat_seconds = absl::ToDoubleSeconds(flat);
  const double ramp_seconds = absl::ToDoubleSeconds(ramp);
  const double flat_calls = from * flat_seconds;
  if (calls < flat_calls) return absl::Seconds(calls / from);
  calls -= flat_calls;
  const double ramp_calls = (from + to) / 2 * ramp_seconds;
  if (calls < ramp_calls) {
    // The root of the quadratic, in the form that does not subtract nearly
    // equal numbers.
    const double root =
        std::sqrt(from * from + 2 * calls * (to - from) / ramp_seconds);
    return flat + absl::Seconds(2 * calls / (from + root));
  }
  if (to <= 0) return absl::InfiniteDuration();
  return flat + ramp + absl::Seconds((calls - ramp_calls) / to);
}

PoissonArrivals::PoissonArrivals(RateCurve curve, uint64_t seed,
                                 absl::Time start)
    : curve_(curve), start_(start), random_(seed) {
  Advance();
}

void PoissonArrivals::Advance() {
  // Not std::exponential_distribution, since each standard library draws other
  // numbers. 53 bits, in [0, 1).
  const double uniform = std::ldexp(static_cast<double>(random_() >> 11), -53);
  calls_ -= std::log1p(-uniform);
}

void BurstArrivals::Advance() {
  if (++begun_ < size_) return;
  begun_ = 0;
  next_ += period_;
}

}  // namespace trivium
