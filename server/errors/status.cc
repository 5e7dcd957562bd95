#include "server/errors/status.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "absl/strings/cord.h"
#include "base/utf8.h"
#include "google/rpc/error_details.pb.h"

namespace trivium {
namespace {

constexpr char kBadRequest[] = "type.googleapis.com/google.rpc.BadRequest";
// Fields may have names that a client chose, such as keys of a map.
constexpr size_t kMostFieldBytes = 256;

// For this process: ToRpcStatus leaves it out.
constexpr char kTooManyTokens[] = "trivium.internal/TooManyTokens";

constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";

}  // namespace

absl::Status InvalidField(const std::string& field,
                          const std::string& description) {
  const std::string name = Shorten(field, kMostFieldBytes);
  absl::Status status =
      absl::InvalidArgumentError(fmt::format("{}: {}", name, description));
  google::rpc::BadRequest details;
  auto* violation = details.add_field_violations();
  violation->set_field(name);
  violation->set_description(Shorten(description, kMaxMessageBytes));
  status.SetPayload(kBadRequest, absl::Cord(details.SerializeAsString()));
  return status;
}

absl::Status TooManyTokens(const std::string& field,
                           const std::string& description) {
  absl::Status status = InvalidField(field, description);
  status.SetPayload(kTooManyTokens, absl::Cord("1"));
  return status;
}

bool IsTooManyTokens(const absl::Status& status) {
  return status.GetPayload(kTooManyTokens).has_value();
}

absl::Status WithRetry(absl::Status status, absl::Duration delay) {
  thread_local std::minstd_rand random(std::random_device{}());
  delay *= std::uniform_real_distribution<double>(1.0, 1.5)(random);
  const int64_t nanos = absl::ToInt64Nanoseconds(delay);
  google::rpc::RetryInfo details;
  details.mutable_retry_delay()->set_seconds(nanos / 1'000'000'000);
  details.mutable_retry_delay()->set_nanos(nanos % 1'000'000'000);
  status.SetPayload(kRetryInfo, absl::Cord(details.SerializeAsString()));
  return status;
}

std::optional<absl::Duration> RetryDelay(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryInfo);
  google::rpc::RetryInfo details;
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return absl::Seconds(details.retry_delay().seconds()) +
         absl::Nanoseconds(details.retry_delay().nanos());
}

std::string Shorten(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  while (end > 0 && IsContinuation(text[end])) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace trivium
