#ifndef TRIVIUM_SERVER_CALLS_CALL_TIMINGS_H_
#define TRIVIUM_SERVER_CALLS_CALL_TIMINGS_H_

#include "absl/time/time.h"

namespace trivium {

// The time that a call has taken so far, and the parts of it.
struct CallTimings {
  absl::Duration queue, tokenize, inference, total;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CALL_TIMINGS_H_
