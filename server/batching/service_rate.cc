#include "server/batching/service_rate.h"

#include <cmath>

// An observation is x tokens in t seconds of one worker; let a be its age, in
// seconds of one worker observed after it. With n workers,
//
//   rate = n sum(x exp(-a / (n M))) / sum(t exp(-a / (n M)))
//
// so an observation M seconds ago counts 1/e of one now. The workers' seconds
// add up, so they age n times as fast as the clock. Ageing by observed time and
// not by the clock keeps the rate while nothing is recorded.

namespace trivium {
namespace {

constexpr double kMemorySeconds = 1;  // M
// Most requests end before their worst case, and then all of their remaining
// tokens count as done at once. A shorter time may contain no such end, and
// would look slow.
constexpr double kLeastSeconds = 0.25;

}  // namespace

void ServiceRate::Observe(int64_t tokens, absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  const double decay = std::exp(-seconds / (workers_ * kMemorySeconds));
  tokens_ = decay * tokens_ + static_cast<double>(tokens);
  seconds_ = decay * seconds_ + seconds;
}

double ServiceRate::PerSecond() const {
  return seconds_ < kLeastSeconds ? 0 : workers_ * tokens_ / seconds_;
}

}  // namespace trivium
