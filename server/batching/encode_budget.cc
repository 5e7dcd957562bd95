#include "server/batching/encode_budget.h"

#include <algorithm>

#include "server/batching/newcomers_share.h"

// Let s be the recent seconds of an iteration's other work. Then
//
//   tokens = NewcomersSeconds(waiting, running, s)
//            x (sum of work / sum of encoder seconds) / layers
//
// bounded to kLeastTokens .. most_tokens_. The sums and the mean s lose a
// quarter at each step.

namespace trivium {
namespace {

// Weight of the old values at each step: about the last four steps count.
constexpr double kEncodeDecay = 0.75;

}  // namespace

int EncodeBudget::Tokens(int64_t running, int64_t waiting) const {
  if (encode_seconds_ <= 0) return most_tokens_;
  const double seconds = NewcomersSeconds(waiting, running, other_seconds_);
  const double work = seconds * encode_work_ / encode_seconds_;
  return std::min(most_tokens_, static_cast<int>(std::clamp<double>(
                                    work / layers_, kLeastTokens, 1 << 20)));
}

int EncodeBudget::TokensIn(double seconds) const {
  if (seconds <= 0) return 0;
  if (encode_seconds_ <= 0) return most_tokens_;
  return static_cast<int>(std::clamp<double>(
      seconds * encode_work_ / encode_seconds_ / layers_, 1, most_tokens_));
}

void EncodeBudget::Observe(int64_t encode_work, double encode_seconds,
                           int decoder_rows, double other_seconds) {
  if (encode_work > 0) {
    encode_seconds_ = kEncodeDecay * encode_seconds_ + encode_seconds;
    encode_work_ =
        kEncodeDecay * encode_work_ + static_cast<double>(encode_work);
  }
  if (decoder_rows > 0) {
    other_seconds_ = other_seconds_ <= 0
                         ? other_seconds
                         : kEncodeDecay * other_seconds_ +
                               (1 - kEncodeDecay) * other_seconds;
  }
}

}  // namespace trivium
