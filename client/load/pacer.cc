#include "client/load/pacer.h"

#include <algorithm>
#include <utility>

namespace trivium {

absl::Time ClosedPacer::NextStart(absl::Time now, int in_flight) {
  return in_flight < concurrency_ ? now : absl::InfiniteFuture();
}

OpenPacer::OpenPacer(std::vector<std::unique_ptr<Arrivals>> arrivals,
                     int max_in_flight)
    : arrivals_(std::move(arrivals)), max_in_flight_(max_in_flight) {}

absl::Time OpenPacer::NextStart(absl::Time now, int in_flight) {
  return in_flight < max_in_flight_ ? First().next() : absl::InfiniteFuture();
}

void OpenPacer::Started() { First().Advance(); }

Arrivals& OpenPacer::First() const {
  return **std::min_element(
      arrivals_.begin(), arrivals_.end(),
      [](const auto& a, const auto& b) { return a->next() < b->next(); });
}

std::unique_ptr<Pacer> MakePacer(const Pacing& pacing, absl::Time start,
                                 absl::Duration warm_up) {
  if (!pacing.open()) return std::make_unique<ClosedPacer>(pacing.concurrency);
  std::vector<std::unique_ptr<Arrivals>> arrivals;
  if (pacing.ramp) {
    arrivals.push_back(std::make_unique<PoissonArrivals>(
        RateCurve{pacing.ramp->from, pacing.ramp->to, warm_up,
                  pacing.ramp->time},
        pacing.seed, start));
  } else if (pacing.rate > 0) {
    arrivals.push_back(std::make_unique<PoissonArrivals>(
        RateCurve{.from = pacing.rate, .to = pacing.rate}, pacing.seed, start));
  }
  if (pacing.burst) {
    arrivals.push_back(std::make_unique<BurstArrivals>(
        pacing.burst->size, pacing.burst->period, start + warm_up));
  }
  return std::make_unique<OpenPacer>(std::move(arrivals), pacing.max_in_flight);
}

}  // namespace trivium
