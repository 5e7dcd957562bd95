#include "server/batching/refusals.h"

#include <algorithm>

#include "fmt/format.h"

namespace trivium {
namespace {

// Forecasts are of means, and a call that is answered too late costs as much as
// one in time: what is taken has this much more time than it is said to need.
constexpr double kMargin = 1.25;
// Its text is still to be tokenized, and the answer to get to its client, on
// cores that are busy.
constexpr absl::Duration kTransit = absl::Milliseconds(3);

// Zero where the answer is.
absl::Duration WithMargin(absl::Duration answer) {
  return answer > absl::ZeroDuration() ? kMargin * answer + kTransit : answer;
}

// What a call really asks for may be less than is usual: about a sentence.
constexpr int64_t kLittleTokens = 256;

}  // namespace

Submission CheckTime(const Forecast::Times& times, absl::Time now,
                     absl::Time deadline, absl::Duration most_wait) {
  Submission refusal;
  // Who is too late already hears so from the queue.
  if (deadline > now && now + WithMargin(times.answer) > deadline) {
    refusal.status = absl::ResourceExhaustedError(fmt::format(
        "the answer would take about {:.3g} s and the call's deadline is in "
        "{:.3g} s: come back later, or give it more time",
        absl::ToDoubleSeconds(times.answer),
        absl::ToDoubleSeconds(deadline - now)));
  } else if (times.wait > most_wait) {
    refusal.status = absl::ResourceExhaustedError(fmt::format(
        "the call would wait about {:.3g} s to begin, and the server lets none "
        "wait longer than {:.3g} s: come back later",
        absl::ToDoubleSeconds(times.wait), absl::ToDoubleSeconds(most_wait)));
  } else {
    return {};
  }
  refusal.late = true;
  refusal.retry_after = RetryAfter(times.answer);
  return refusal;
}

Submission CheckRoom(const Admission& admission, Sender sender,
                     int64_t usual_tokens, int64_t coming,
                     const Forecast::Times& times) {
  const int64_t least = std::min(usual_tokens, kLittleTokens);
  if (least + coming * usual_tokens <=
      admission.free_tokens(sender.client, sender.priority))
    return {};
  Submission refusal = absl::ResourceExhaustedError(
      "the queue has no room left for this client: try again later");
  refusal.retry_after = RetryAfter(times.answer);
  return refusal;
}

const char* ReasonOf(const Submission& refusal) {
  if (refusal.late) return "late";
  if (absl::IsResourceExhausted(refusal.status)) return "full";
  return absl::IsUnavailable(refusal.status) ? "draining" : "invalid";
}

absl::Duration RetryAfter(absl::Duration answer) {
  // Where the rate is not known, a second is a guess as good as any.
  if (answer == absl::ZeroDuration()) return absl::Seconds(1);
  return std::clamp(answer, absl::Milliseconds(10), absl::Minutes(1));
}

}  // namespace trivium
