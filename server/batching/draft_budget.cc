// With the mean seconds s of the last steps without guesses, and over the last
// steps with them the sums of guessed tokens T and of the seconds E that these
// steps took longer than s,
//   price = rows x (E / T) / s
// and 1/4 of rows while nothing is measured. So s/rows is the time of a token,
// and 1 / price guesses take as long as it. The sums and the mean forget a
// quarter of what they were at each step of their kind; E forgets a little at
// the others, too, so that a price that was measured too high is tried again.
#include "server/batching/draft_budget.h"

#include <algorithm>

namespace trivium {
namespace {

// Of what was known, at each step: the last four or so count.
constexpr double kRemembered = 0.75;
// Of E, at each step without guesses.
constexpr double kRememberedWithout = 0.99;
constexpr double kFirstShare = 0.25;
// A guessed row takes no more of a step's time: what does is another matter.
constexpr double kMostShare = 2;

}  // namespace

double DraftBudget::Price(int rows) const {
  const double share = step_seconds_ <= 0 || tokens_ <= 0
                           ? kFirstShare
                           : seconds_ / tokens_ / step_seconds_;
  return rows * share;
}

int DraftBudget::MostTokens(int rows) const {
  const double price = std::max(Price(rows), 1.0 / (1 + kMostTokens));
  return static_cast<int>(1 / price);
}

void DraftBudget::Observe(int drafted, double seconds) {
  if (drafted == 0) {
    step_seconds_ = step_seconds_ <= 0 ? seconds
                                       : kRemembered * step_seconds_ +
                                             (1 - kRemembered) * seconds;
    seconds_ *= kRememberedWithout;
    return;
  }
  if (step_seconds_ <= 0) return;
  tokens_ = kRemembered * tokens_ + drafted;
  seconds_ =
      kRemembered * seconds_ + std::clamp(seconds - step_seconds_, 0.0,
                                          kMostShare * drafted * step_seconds_);
}

}  // namespace trivium
