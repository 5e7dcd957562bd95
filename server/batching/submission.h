#ifndef TRIVIUM_SERVER_BATCHING_SUBMISSION_H_
#define TRIVIUM_SERVER_BATCHING_SUBMISSION_H_

#include <utility>

#include "absl/status/status.h"

namespace trivium {

// What became of a call's requests: all were taken, or none.
struct [[nodiscard]] Submission {
  absl::Status status;
  // Which of the call's requests was refused; -1 where it was the call as a
  // whole.
  int request = -1;

  Submission() = default;
  // Implicit, as a refusal of the whole call is no more than its status.
  Submission(absl::Status status, int request = -1)  // NOLINT
      : status(std::move(status)), request(request) {}

  bool ok() const { return status.ok(); }
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SUBMISSION_H_
