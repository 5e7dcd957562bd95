#ifndef TRIVIUM_SERVER_BATCHING_SUBMISSION_H_
#define TRIVIUM_SERVER_BATCHING_SUBMISSION_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace trivium {

// What became of a call's requests: all were taken, or none.
struct [[nodiscard]] Submission {
  absl::Status status;
  // Which of the call's requests was refused; -1 where it was the call as a
  // whole.
  int request = -1;
  // Of RESOURCE_EXHAUSTED: when what is before the call will have been worked
  // off, as far as is known. Without jitter, which the handlers add.
  absl::Duration retry_after = absl::ZeroDuration();
  bool late = false;  // refused because there is not enough time

  Submission() = default;
  // Implicit, as a refusal of the whole call is no more than its status.
  Submission(absl::Status status, int request = -1)  // NOLINT
      : status(std::move(status)), request(request) {}

  bool ok() const { return status.ok(); }
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SUBMISSION_H_
