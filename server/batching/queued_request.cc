#include "server/batching/queued_request.h"

#include "fmt/format.h"

namespace trivium {

absl::Status CancelledStatus() {
  return absl::CancelledError("nobody waits for the answer any more");
}

absl::Status DeadlineStatus(const char* stage) {
  return absl::DeadlineExceededError(
      fmt::format("the deadline passed while the request was {}", stage));
}

absl::Status TooLateStatus() {
  return absl::DeadlineExceededError(
      "the deadline would have passed before the request's end, so it was not "
      "begun");
}

}  // namespace trivium
