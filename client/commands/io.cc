#include "client/commands/io.h"

#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Marks a status as one of local files: the server never sends payloads.
constexpr char kLocal[] = "trivium.client.io";

}  // namespace

absl::Status IoError(const char* doing, const char* what, int error) {
  const std::string reason =
      error == EPIPE ? "its reader went away" : std::strerror(error);
  absl::Status status =
      absl::AbortedError(fmt::format("cannot {} {}: {}", doing, what, reason));
  status.SetPayload(kLocal, absl::Cord());
  return status;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.GetPayload(kLocal).has_value()) return kExitIo;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return kExitUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitTimeout;
    default:
      return kExitFailed;
  }
}

}  // namespace trivium
