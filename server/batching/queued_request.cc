#include "server/batching/queued_request.h"

#include "fmt/format.h"

namespace trivium {

absl::Status CancelledStatus() {
  return absl::CancelledError("the request was cancelled");
}

absl::Status DeadlineStatus(const char* stage) {
  return absl::DeadlineExceededError(
      fmt::format("the deadline passed while the request was {}", stage));
}

absl::Status TooLateStatus() {
  return absl::DeadlineExceededError(
      "the request was not started because it could not end before its "
      "deadline");
}

absl::Status NotFiniteStatus() {
  return absl::InternalError(
      "the model computed infinite or undefined numbers for this input, so "
      "there is no answer; send another input, or have the model served in "
      "another precision");
}

absl::Status NoMemoryStatus() {
  return absl::ResourceExhaustedError(
      "the server has no memory left for this request; retry later, or send a "
      "shorter one");
}

absl::Status StalledStatus(const std::string& model) {
  return absl::UnavailableError(fmt::format(
      "the model '{}' has stopped computing: a step of it does not end; retry "
      "later, or call another server",
      model));
}

}  // namespace trivium
