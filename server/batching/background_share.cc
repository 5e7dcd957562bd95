#include "server/batching/background_share.h"

#include <algorithm>
#include <limits>

// Let t be the mean seconds that interactive requests took lately. Background
// requests use at most m = t / 4 of an iteration: this bounds their own
// iterations within kLately, and their savings. After an iteration of s
// seconds, b of them for background requests, the earned seconds e become
//
//   min(e + kEarned (s - b) - b, m)
//
// b is the background part of the iteration's rows times s. That overstates the
// time that the iteration would save without them, so they delay an interactive
// request by less than kEarned.
//
// A new interactive request waits less than m for the iteration under way,
// which is short compared with the slowest requests.

namespace trivium {
namespace {

constexpr double kPartOfARequest = 0.25;
// Weight of the old mean at each answer: about the last 16 answers count.
constexpr double kTookDecay = 15.0 / 16;

}  // namespace

void BackgroundShare::Answered(absl::Duration took) {
  const double seconds = absl::ToDoubleSeconds(took);
  took_ =
      took_ <= 0 ? seconds : kTookDecay * took_ + (1 - kTookDecay) * seconds;
}

double BackgroundShare::MostSeconds() const {
  return took_ <= 0 ? std::numeric_limits<double>::infinity()
                    : kPartOfARequest * took_;
}

double BackgroundShare::Seconds(absl::Time now) const {
  if (running_ > 0) return std::min(earned_, MostSeconds());
  if (now - last_ < kLately) return MostSeconds();
  return std::numeric_limits<double>::infinity();
}

void BackgroundShare::Observe(double seconds, double background_seconds) {
  earned_ += kEarned * std::max(0.0, seconds - background_seconds) -
             background_seconds;
  earned_ = std::min(earned_, MostSeconds());
}

}  // namespace trivium
