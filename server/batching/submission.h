#ifndef TRIVIUM_SERVER_BATCHING_SUBMISSION_H_
#define TRIVIUM_SERVER_BATCHING_SUBMISSION_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace trivium {

// The outcome of submitting a call: all its requests were accepted, or none.
struct [[nodiscard]] Submission {
  absl::Status status;
  // Index of the request that was refused; -1 if the call as a whole was.
  int request = -1;
  // With RESOURCE_EXHAUSTED: forecast time until the work before the call is
  // done. With UNAVAILABLE: when to try again, unless it is zero. Without
  // jitter, which the calls add.
  absl::Duration retry_after = absl::ZeroDuration();
  bool late = false;  // refused for lack of time

  Submission() = default;
  // Implicit: a refusal of the whole call is just its status.
  Submission(absl::Status status, int request = -1)  // NOLINT
      : status(std::move(status)), request(request) {}

  bool ok() const { return status.ok(); }
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SUBMISSION_H_
