#include "client/load/connect_protocol.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

// A byte of flags and a four-byte length, big-endian.
constexpr size_t kHeadBytes = 5;
constexpr char kEndOfStream = 2;

grpc::StatusCode CodeOfHttp(int status) {
  switch (status) {
    case 400:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case 401:
      return grpc::StatusCode::UNAUTHENTICATED;
    case 403:
      return grpc::StatusCode::PERMISSION_DENIED;
    case 404:
      return grpc::StatusCode::NOT_FOUND;
    case 429:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case 501:
      return grpc::StatusCode::UNIMPLEMENTED;
    case 502:
    case 503:
      return grpc::StatusCode::UNAVAILABLE;
    case 504:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    default:
      return grpc::StatusCode::UNKNOWN;
  }
}

// Returns the code of a name in Connect's protocol, or `otherwise` if it is
// none.
grpc::StatusCode CodeNamed(const std::string& name,
                           grpc::StatusCode otherwise) {
  if (name == "canceled") return grpc::StatusCode::CANCELLED;
  for (int code = 1; code <= grpc::StatusCode::UNAUTHENTICATED; ++code) {
    const std::string known =
        absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
    if (name == absl::AsciiStrToLower(known)) {
      return static_cast<grpc::StatusCode>(code);
    }
  }
  return otherwise;
}

std::string StringAt(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

grpc::Status ErrorOf(const json& error, grpc::StatusCode otherwise) {
  return {CodeNamed(StringAt(error, "code"), otherwise),
          StringAt(error, "message")};
}

}  // namespace

std::string ConnectPath(const google::protobuf::Descriptor& request) {
  constexpr std::string_view kSuffix = "Request";
  const std::string& name = request.name();
  return fmt::format("/{}/{}", request.file()->service(0)->full_name(),
                     name.substr(0, name.size() - kSuffix.size()));
}

grpc::Status ConnectError(int http_status, const std::string& body) {
  const grpc::StatusCode code = CodeOfHttp(http_status);
  const json parsed = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_object()) {
    // OpenAI nests the error in "error".
    const auto inner = parsed.find("error");
    const bool nested = inner != parsed.end() && inner->is_object();
    return ErrorOf(nested ? *inner : parsed, code);
  }
  return {code, fmt::format("HTTP status {}", http_status)};
}

std::string Envelope(const std::string& message) {
  std::string bytes(1, 0);
  const auto size = static_cast<uint32_t>(message.size());
  for (const int shift : {24, 16, 8, 0}) {
    bytes += static_cast<char>(size >> shift & 0xff);
  }
  return bytes + message;
}

void EnvelopeReader::Add(
    std::string_view bytes,
    const std::function<void(const std::string&)>& message) {
  rest_ += bytes;
  while (rest_.size() >= kHeadBytes) {
    size_t size = 0;
    for (size_t i = 1; i < kHeadBytes; ++i) {
      size = size << 8 | static_cast<uint8_t>(rest_[i]);
    }
    if (rest_.size() < kHeadBytes + size) return;
    const std::string body = rest_.substr(kHeadBytes, size);
    const bool last = (rest_[0] & kEndOfStream) != 0;
    rest_.erase(0, kHeadBytes + size);
    if (!last) {
      message(body);
      continue;
    }
    const json end = json::parse(body, nullptr, /*allow_exceptions=*/false);
    const bool failed = end.is_object() && end.contains("error");
    status_ = failed ? ErrorOf(end["error"], grpc::StatusCode::UNKNOWN)
                     : grpc::Status::OK;
  }
}

}  // namespace trivium
