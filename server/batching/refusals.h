#ifndef TRIVIUM_SERVER_BATCHING_REFUSALS_H_
#define TRIVIUM_SERVER_BATCHING_REFUSALS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/batching/admission.h"
#include "server/batching/forecast.h"
#include "server/batching/request.h"
#include "server/batching/submission.h"

namespace trivium {

// What a call is told that is not taken for want of time or room: each is OK,
// or RESOURCE_EXHAUSTED with the time to come back.

// A call that would be answered after its deadline, or wait longer than
// `most_wait` to begin.
Submission CheckTime(const Forecast::Times& times, absl::Time now,
                     absl::Time deadline, absl::Duration most_wait);

// A call of which nothing is known yet, where hardly any would find room:
// `coming` of the client's, of about `usual_tokens` each, are on their way.
Submission CheckRoom(const Admission& admission, Sender sender,
                     int64_t usual_tokens, int64_t coming,
                     const Forecast::Times& times);

// For the metrics: "late", "full", "draining" or "invalid".
const char* ReasonOf(const Submission& refusal);

// When there is room again for a call that would be answered after so much time
// now.
absl::Duration RetryAfter(absl::Duration answer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REFUSALS_H_
