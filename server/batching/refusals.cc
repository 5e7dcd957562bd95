#include "server/batching/refusals.h"

#include <algorithm>

#include "fmt/format.h"
#include "server/batching/queued_request.h"

namespace trivium {
namespace {

// Forecasts are means, and a late answer costs as much work as one in time. So
// an admitted call must have this much more time than its forecast.
constexpr double kMargin = 1.25;
// Time to tokenize the text and to send the answer, on busy cores.
constexpr absl::Duration kTransit = absl::Milliseconds(3);

// Returns zero for a forecast of zero.
absl::Duration WithMargin(absl::Duration answer) {
  return answer > absl::ZeroDuration() ? kMargin * answer + kTransit : answer;
}

// Nobody knows when a step that lasts too long returns.
constexpr absl::Duration kRetryStalled = absl::Seconds(5);

// The call may ask for less than is usual: about one sentence.
constexpr int64_t kLittleTokens = 256;

}  // namespace

Submission CheckTime(const Forecast::Times& times, absl::Time now,
                     absl::Time deadline, absl::Duration most_wait) {
  Submission refusal;
  // A deadline that has already passed is reported by the queue.
  if (deadline > now && now + WithMargin(times.answer) > deadline) {
    refusal.status = absl::ResourceExhaustedError(fmt::format(
        "the answer would take about {:.3g} s, but the call's deadline is in "
        "{:.3g} s: retry later, or give the call more time",
        absl::ToDoubleSeconds(times.answer),
        absl::ToDoubleSeconds(deadline - now)));
  } else if (times.wait > most_wait) {
    refusal.status = absl::ResourceExhaustedError(fmt::format(
        "the call would wait about {:.3g} s to start, but the server lets no "
        "call wait longer than {:.3g} s: retry later",
        absl::ToDoubleSeconds(times.wait), absl::ToDoubleSeconds(most_wait)));
  } else {
    return {};
  }
  refusal.late = true;
  refusal.retry_after = RetryAfter(times.answer);
  return refusal;
}

Submission CheckRoom(const Admission& admission, Sender sender,
                     int64_t usual_tokens, int64_t in_transit,
                     const Forecast::Times& times) {
  const int64_t least = std::min(usual_tokens, kLittleTokens);
  if (least + in_transit * usual_tokens <=
      admission.free_tokens(sender.client, sender.priority))
    return {};
  Submission refusal = absl::ResourceExhaustedError(
      "the queue has no room left for this client: try again later");
  refusal.retry_after = RetryAfter(times.answer);
  return refusal;
}

Submission RefuseStalled(const ServedModel& model) {
  Submission refusal = StalledStatus(model.name);
  refusal.retry_after = kRetryStalled;
  return refusal;
}

const char* ReasonOf(const Submission& refusal) {
  if (refusal.late) return "late";
  if (absl::IsResourceExhausted(refusal.status)) return "full";
  if (!absl::IsUnavailable(refusal.status)) return "invalid";
  return refusal.retry_after > absl::ZeroDuration() ? "stalled" : "draining";
}

absl::Duration RetryAfter(absl::Duration answer) {
  // The rate is unknown: any guess will do.
  if (answer == absl::ZeroDuration()) return absl::Seconds(1);
  return std::clamp(answer, absl::Milliseconds(10), absl::Minutes(1));
}

}  // namespace trivium
