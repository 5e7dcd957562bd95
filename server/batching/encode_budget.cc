#include "server/batching/encode_budget.h"

#include <algorithm>

// With w waiting and r running requests, and the seconds s that an iteration's
// other work took lately,
//   seconds = min(clamp(w / r, 1/4, 4) s, 0.1)
//   tokens  = seconds x (sum of work / sum of encoder seconds) / layers
// and at least kLeastTokens, at most most_tokens_. The sums and the mean s
// forget a quarter of what they were at each step.

namespace trivium {
namespace {

constexpr double kLeastShare = 0.25;
constexpr double kMostShare = 4;
constexpr double kMostSeconds = 0.1;
// Of what was known, at each step: the last four or so count.
constexpr double kKept = 0.75;

}  // namespace

int EncodeBudget::Tokens(int64_t running, int64_t waiting) const {
  if (encode_seconds_ <= 0) return most_tokens_;
  double seconds = kMostSeconds;
  if (running > 0 && other_seconds_ > 0) {
    const double share =
        std::clamp(static_cast<double>(waiting) / static_cast<double>(running),
                   kLeastShare, kMostShare);
    seconds = std::min(seconds, share * other_seconds_);
  }
  const double work = seconds * encode_work_ / encode_seconds_;
  return std::min(most_tokens_, static_cast<int>(std::clamp<double>(
                                    work / layers_, kLeastTokens, 1 << 20)));
}

void EncodeBudget::Observe(int64_t encode_work, double encode_seconds,
                           int decoder_rows, double other_seconds) {
  if (encode_work > 0) {
    encode_seconds_ = kKept * encode_seconds_ + encode_seconds;
    encode_work_ = kKept * encode_work_ + static_cast<double>(encode_work);
  }
  if (decoder_rows > 0) {
    other_seconds_ = other_seconds_ <= 0
                         ? other_seconds
                         : kKept * other_seconds_ + (1 - kKept) * other_seconds;
  }
}

}  // namespace trivium
