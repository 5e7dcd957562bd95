#include "server/batching/service_rate.h"

#include <cmath>

// Over the observations i, of x tokens in t seconds of one worker, the newest
// last, with so many seconds a of one worker observed after them, and n
// workers:
//   rate = n sum(x exp(-a / (n M))) / sum(t exp(-a / (n M)))
// so what was seen M seconds ago counts 1/e of what is seen now.

namespace trivium {
namespace {

constexpr double kMemorySeconds = 1;  // M
// Requests end before their worst case, and then all that is left of it is
// done at once; a time without such ends would seem slow.
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
