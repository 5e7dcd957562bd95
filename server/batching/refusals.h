#ifndef TRIVIUM_SERVER_BATCHING_REFUSALS_H_
#define TRIVIUM_SERVER_BATCHING_REFUSALS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/batching/admission.h"
#include "server/batching/forecast.h"
#include "server/batching/request.h"
#include "server/batching/served_model.h"
#include "server/batching/submission.h"

namespace trivium {

// Refusals of calls for lack of time or room. Each check returns OK, or
// RESOURCE_EXHAUSTED with the time to retry after.

// Refuses a call that would be answered after its deadline, or would wait
// longer than `most_wait` to start.
Submission CheckTime(const Forecast::Times& times, absl::Time now,
                     absl::Time deadline, absl::Duration most_wait);

// Refuses a call whose texts are not known, if hardly any call would find room
// after the client's `in_transit` other calls of about `usual_tokens` each.
Submission CheckRoom(const Admission& admission, Sender sender,
                     int64_t usual_tokens, int64_t in_transit,
                     const Forecast::Times& times);

// The refusal of a call for a model whose steps have all been given up.
Submission RefuseStalled(const ServedModel& model);

// Metric label of a refusal: "late", "full", "stalled", "draining" or
// "invalid".
const char* ReasonOf(const Submission& refusal);

// Time to retry after, for a call that would now be answered after `answer`.
absl::Duration RetryAfter(absl::Duration answer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REFUSALS_H_
