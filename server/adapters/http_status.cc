#include "server/adapters/http_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "google/rpc/error_details.pb.h"
#include "server/adapters/json_fields.h"
#include "server/errors/rpc_status.h"

namespace trivium {
namespace {

constexpr std::string_view kMaxTokens = "decoding.max_new_tokens";

// Replaces the beginning of `text` if it is a field of one of the names.
std::string Renamed(std::string text, std::span<const FieldName> names) {
  for (const FieldName& name : names) {
    const std::string_view field = name.field;
    const bool fits =
        text.starts_with(field) &&
        (field.ends_with('.') || text.size() == field.size() ||
         std::string_view(".:[").find(text[field.size()]) != field.npos);
    if (!fits) continue;
    text.replace(0, field.size(), name.name);
    break;
  }
  // Other APIs' lists of ids have no name within an input.
  if (!names.empty()) {
    absl::StrReplaceAll({{".ids.ids[", "["}, {"].ids[", "]["}}, &text);
  }
  return text;
}

}  // namespace

// https://connectrpc.com/docs/protocol#error-codes
int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

std::string_view ConnectCodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kCancelled:
      return "canceled";
    case absl::StatusCode::kInvalidArgument:
      return "invalid_argument";
    case absl::StatusCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case absl::StatusCode::kNotFound:
      return "not_found";
    case absl::StatusCode::kAlreadyExists:
      return "already_exists";
    case absl::StatusCode::kPermissionDenied:
      return "permission_denied";
    case absl::StatusCode::kResourceExhausted:
      return "resource_exhausted";
    case absl::StatusCode::kFailedPrecondition:
      return "failed_precondition";
    case absl::StatusCode::kAborted:
      return "aborted";
    case absl::StatusCode::kOutOfRange:
      return "out_of_range";
    case absl::StatusCode::kUnimplemented:
      return "unimplemented";
    case absl::StatusCode::kInternal:
      return "internal";
    case absl::StatusCode::kUnavailable:
      return "unavailable";
    case absl::StatusCode::kDataLoss:
      return "data_loss";
    case absl::StatusCode::kUnauthenticated:
      return "unauthenticated";
    default:
      return "unknown";
  }
}

std::string MessageOf(const Ending& ending, std::span<const FieldName> names) {
  if (NamesOwnMember(ending.status)) names = {};
  std::string message = Renamed(ToRpcStatus(ending.status).message(), names);
  // Errors about lengths name this field within the text, too.
  for (const FieldName& name : names) {
    if (name.field != kMaxTokens) continue;
    absl::StrReplaceAll(
        {{"max_new_tokens", {name.name.data(), name.name.size()}}}, &message);
  }
  if (ending.request_id.empty()) return message;
  return fmt::format("{} (request {})", message, ending.request_id);
}

std::string FieldOf(const absl::Status& status,
                    std::span<const FieldName> names) {
  if (NamesOwnMember(status)) names = {};
  google::rpc::BadRequest bad;
  const google::rpc::Status rpc_status = ToRpcStatus(status);
  for (const auto& detail : rpc_status.details()) {
    if (detail.UnpackTo(&bad) && bad.field_violations_size() > 0) {
      return Renamed(bad.field_violations(0).field(), names);
    }
  }
  return "";
}

std::optional<InputError> InputErrorOf(const absl::Status& status) {
  const std::string field = FieldOf(status);
  InputError error = {0, ""};
  if (field.starts_with("inputs[")) {
    const std::string number = field.substr(7, field.find(']') - 7);
    if (!absl::SimpleAtoi(number, &error.input)) return std::nullopt;
  } else if (field != "input" && !field.starts_with("input.")) {
    return std::nullopt;
  }
  const std::string message(status.message());
  if (!message.starts_with(field)) return std::nullopt;
  error.description = message.substr(
      std::min(message.find_first_not_of(": ", field.size()), message.size()));
  return error;
}

std::string TypeOf(const RequestHead& head) {
  const std::string type = head.header("Content-Type");
  return absl::AsciiStrToLower(
      absl::StripAsciiWhitespace(type.substr(0, type.find(';'))));
}

}  // namespace trivium
