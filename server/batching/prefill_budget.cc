#include "server/batching/prefill_budget.h"

#include <algorithm>

#include "server/batching/newcomers_share.h"

// Let s be the mean seconds of recent steps without prefixes. Over the recent
// steps with prefixes, let T be the sum of prefix tokens, and E the sum of the
// seconds that these steps took longer than s. Then
//
//   tokens = NewcomersSeconds(reading, running, s) x T / E
//
// bounded to kLeastTokens .. most_tokens_, or to kLeastAlone .. most_tokens_ if
// nothing runs. The sums and the mean s lose a quarter at each step of their
// kind.

namespace trivium {
namespace {

// Weight of the old values at each step: about the last four steps count.
constexpr double kPrefillDecay = 0.75;

}  // namespace

int PrefillBudget::Tokens(int64_t running, int64_t reading) const {
  if (tokens_ <= 0) return most_tokens_;
  const double seconds = NewcomersSeconds(reading, running, step_seconds_);
  // The lower bound avoids a division by 0 if a token costs nothing.
  const double tokens = seconds * tokens_ / std::max(seconds_, 1e-9);
  const int least = running > 0 ? kLeastTokens : kLeastAlone;
  return static_cast<int>(
      std::clamp<double>(tokens, std::min(least, most_tokens_), most_tokens_));
}

void PrefillBudget::Observe(int tokens, int rows, double seconds) {
  if (tokens == 0) {
    if (rows == 0) return;
    step_seconds_ = step_seconds_ <= 0 ? seconds
                                       : kPrefillDecay * step_seconds_ +
                                             (1 - kPrefillDecay) * seconds;
    return;
  }
  tokens_ = kPrefillDecay * tokens_ + tokens;
  seconds_ = kPrefillDecay * seconds_ + std::max(0.0, seconds - step_seconds_);
}

}  // namespace trivium
