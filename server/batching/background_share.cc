#include "server/batching/background_share.h"

#include <algorithm>
#include <limits>

// With the mean seconds t that interactive requests took lately, m = t / 4 is
// the most that background requests take of an iteration at once: of their own
// iterations within kLately, and of what they have earned. An iteration of s
// seconds, b of them for background requests, makes what they have earned
//   min(e + kEarned (s - b) - b, m)
// The seconds of background requests are their part of the iteration's rows,
// and so more than the iteration would take less without them: beside an
// interactive request they delay it by less than kEarned.
//
// A request that comes waits for less than m until the iteration under way has
// ended, which is little of what the slowest requests take.

namespace trivium {
namespace {

constexpr double kPartOfARequest = 0.25;
// Of the mean, at each answer: the last 16 or so count.
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
