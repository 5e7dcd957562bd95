// Let s be the mean seconds of recent steps without guesses. Over the recent
// steps with guesses, let T be the sum of guessed tokens, and E the sum of the
// seconds that these steps took longer than s. Then
//
//   price = rows x (E / T) / s
//
// and rows / 4 while nothing is measured. s / rows is the time of one token,
// and 1 / price guesses take as long. The sums and the mean lose a quarter at
// each step of their kind. E also decays a little at the other steps, so that a
// price that was measured too high is tried again.
#include "server/batching/draft_budget.h"

#include <algorithm>

namespace trivium {
namespace {

// Weight of the old values at each step: about the last four steps count.
constexpr double kRemembered = 0.75;
// Weight of E at each step without guesses.
constexpr double kRememberedWithout = 0.99;
constexpr double kFirstShare = 0.25;
// A guessed row costs at most twice a step; more time than that has another
// cause.
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
