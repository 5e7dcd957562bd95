#include "client/load/pacer.h"

#include <cmath>

namespace trivium {

absl::Time ClosedPacer::NextStart(absl::Time now, int in_flight) {
  return in_flight < concurrency_ ? now : absl::InfiniteFuture();
}

PoissonPacer::PoissonPacer(double rate, uint64_t seed, int max_in_flight,
                           absl::Time start)
    : rate_(rate), max_in_flight_(max_in_flight), random_(seed), next_(start) {
  Started();
}

absl::Time PoissonPacer::NextStart(absl::Time now, int in_flight) {
  return in_flight < max_in_flight_ ? next_ : absl::InfiniteFuture();
}

void PoissonPacer::Started() {
  // Not std::exponential_distribution: each standard library draws its own.
  // 53 bits, in [0, 1).
  const double uniform = std::ldexp(static_cast<double>(random_() >> 11), -53);
  next_ += absl::Seconds(-std::log1p(-uniform) / rate_);
}

}  // namespace trivium
