#include "server/batching/queued_request.h"

#include "fmt/format.h"

namespace trivium {

// These two are made once: nothing may throw while a worker moves a request out
// of its queue.
absl::Status CancelledStatus() {
  static const auto* const status =
      new absl::Status(absl::CancelledError("the request was cancelled"));
  return *status;
}

absl::Status DeadlineStatus(const char* stage) {
  return absl::DeadlineExceededError(
      fmt::format("the deadline passed while the request was {}", stage));
}

absl::Status TooLateStatus() {
  static const auto* const status =
      new absl::Status(absl::DeadlineExceededError(
          "the request was not started because it could not end before its "
          "deadline"));
  return *status;
}

namespace {

// Made at the start of the process.
[[maybe_unused]] const bool made_early =
    !CancelledStatus().ok() && !TooLateStatus().ok();

}  // namespace

absl::Status NotFiniteStatus() {
  return absl::InternalError(
      "the model computed infinite or undefined numbers for this input, so "
      "there is no answer; send another input, or have the model served in "
      "another precision");
}

absl::Status StalledStatus(const std::string& model) {
  return absl::UnavailableError(fmt::format(
      "the model '{}' has stopped computing: a step of it does not end; retry "
      "later, or call another server",
      model));
}

}  // namespace trivium
