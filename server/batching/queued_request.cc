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

absl::Status NotFiniteStatus() {
  return absl::InternalError(
      "the model computed numbers of this input that are infinite or not "
      "numbers, so it has no answer; send another input, or have the model "
      "served in another precision");
}

}  // namespace trivium
