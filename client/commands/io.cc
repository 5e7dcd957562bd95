#include "client/commands/io.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Payload that marks a status of local files. Statuses from the server never
// have payloads.
constexpr char kLocal[] = "trivium.client.io";

}  // namespace

absl::Status IoError(const char* doing, const char* what, int error) {
  return IoError(doing, what,
                 error == EPIPE ? std::string("its reader went away")
                                : std::string(std::strerror(error)));
}

absl::Status IoError(const char* doing, const char* what,
                     const std::string& reason) {
  return AsIoError(
      absl::AbortedError(fmt::format("cannot {} {}: {}", doing, what, reason)));
}

absl::Status AsIoError(absl::Status status) {
  status.SetPayload(kLocal, absl::Cord());
  return status;
}

absl::Status WriteFile(const std::string& path, const std::string& bytes) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return IoError("write", path.c_str(), errno);
  const bool whole =
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int error = errno;
  if (std::fclose(file) != 0) return IoError("write", path.c_str(), errno);
  return whole ? absl::OkStatus() : IoError("write", path.c_str(), error);
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
