#include "server/batching/prefill_budget.h"

#include <algorithm>

#include "server/batching/newcomers_share.h"

// With the mean seconds s of the last steps without prefixes, and over the
// last steps with them the sums of tokens of prefixes T and of the seconds E
// that these steps took longer than s,
//   tokens = NewcomersSeconds(reading, running, s) x T / E
// and at least kLeastTokens, at most most_tokens_. The sums and the mean s
// forget a quarter of what they were at each step of their kind.

namespace trivium {
namespace {

// Of what was known, at each step: the last four or so count.
constexpr double kPrefillDecay = 0.75;

}  // namespace

int PrefillBudget::Tokens(int64_t running, int64_t reading) const {
  if (tokens_ <= 0) return most_tokens_;
  const double seconds = NewcomersSeconds(reading, running, step_seconds_);
  // Where a token costs next to nothing, as many as there may be.
  const double tokens = seconds * tokens_ / std::max(seconds_, 1e-9);
  return static_cast<int>(std::clamp<double>(
      tokens, std::min(kLeastTokens, most_tokens_), most_tokens_));
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
