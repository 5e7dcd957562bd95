#include "server/batching/prefill_budget.h"

#include <algorithm>

namespace trivium {
namespace {

constexpr double kLeastShare = 0.25;
constexpr double kMostShare = 4;
constexpr double kMostSeconds = 0.1;
// Of what was known, at each step: the last four or so count.
constexpr double kKept = 0.75;

}  // namespace

int PrefillBudget::Tokens(int64_t running, int64_t reading) const {
  if (tokens_ <= 0) return most_tokens_;
  double seconds = kMostSeconds;
  if (running > 0 && step_seconds_ > 0) {
    const double share =
        std::clamp(static_cast<double>(reading) / static_cast<double>(running),
                   kLeastShare, kMostShare);
    seconds = std::min(seconds, share * step_seconds_);
  }
  // Where a token costs next to nothing, as many as there may be.
  const double tokens = seconds * tokens_ / std::max(seconds_, 1e-9);
  return static_cast<int>(std::clamp<double>(
      tokens, std::min(kLeastTokens, most_tokens_), most_tokens_));
}

void PrefillBudget::Observe(int tokens, int rows, double seconds) {
  if (tokens == 0) {
    if (rows == 0) return;
    step_seconds_ = step_seconds_ <= 0
                        ? seconds
                        : kKept * step_seconds_ + (1 - kKept) * seconds;
    return;
  }
  tokens_ = kKept * tokens_ + tokens;
  seconds_ = kKept * seconds_ + std::max(0.0, seconds - step_seconds_);
}

}  // namespace trivium
