#include "server/batching/admission.h"

#include <algorithm>

#include "fmt/format.h"

// waiting_tokens_ is the sum over all requests that were admitted and have
// neither begun to run nor been dropped. Only Admit adds to it, and never
// beyond max_waiting_tokens_. Where requests of r tokens a second start, the w
// that wait are worked off in w / r seconds.

namespace trivium {

Submission Admission::Admit(std::span<const int64_t> tokens) {
  int64_t total = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    total += tokens[i];
    if (total > max_waiting_tokens_) {
      return {absl::InvalidArgumentError(fmt::format(
                  "with this request of {} tokens the call has {}, but even an "
                  "empty queue takes only {}: split the call, or lower the "
                  "beam size or max_new_tokens",
                  tokens[i], total, max_waiting_tokens_)),
              static_cast<int>(i)};
    }
  }
  if (total > free_tokens()) {
    return absl::ResourceExhaustedError(fmt::format(
        "the queue is full: {} of {} tokens wait and the call has {}: try "
        "again later",
        waiting_tokens_, max_waiting_tokens_, total));
  }
  waiting_tokens_ += total;
  return {};
}

void Admission::Start(int64_t tokens, absl::Time now) {
  waiting_tokens_ -= tokens;
  started_.Add(tokens, now);
}

absl::Duration Admission::RetryAfter(absl::Time now) const {
  constexpr absl::Duration kLeast = absl::Milliseconds(10);
  constexpr absl::Duration kMost = absl::Minutes(1);
  const double rate = started_.PerSecond(now);
  if (rate == 0) return waiting_tokens_ == 0 ? kLeast : absl::Seconds(1);
  return std::clamp(absl::Seconds(waiting_tokens_ / rate), kLeast, kMost);
}

}  // namespace trivium
