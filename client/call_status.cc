#include "client/call_status.h"

#include <string>

#include "fmt/format.h"
#include "google/rpc/error_details.pb.h"

namespace trivium {
namespace {

std::string Seconds(absl::Duration duration) {
  return fmt::format("{:g} s", absl::ToDoubleSeconds(duration));
}

// Returns the details of a google.rpc.Status that `message` does not contain.
std::string DescribeDetails(const std::string& serialized,
                            const std::string& message) {
  google::rpc::Status status;
  if (!status.ParseFromString(serialized)) return "";
  std::string text;
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::BadRequest bad_request;
    google::rpc::RetryInfo retry;
    if (detail.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        const bool told =
            message.find(violation.field()) != std::string::npos &&
            message.find(violation.description()) != std::string::npos;
        if (!told) {
          text += fmt::format("; {}: {}", violation.field(),
                              violation.description());
        }
      }
    } else if (detail.UnpackTo(&retry)) {
      const auto& delay = retry.retry_delay();
      text += fmt::format("; try again in {}",
                          Seconds(absl::Seconds(delay.seconds()) +
                                  absl::Nanoseconds(delay.nanos())));
    }
  }
  return text;
}

// Returns the request id of the trailers; empty if no server answered.
std::string RequestId(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find("x-request-id");
  if (found == trailers.end()) return "";
  return std::string(found->second.data(), found->second.size());
}

}  // namespace

absl::Status CallStatus(const grpc::Status& status,
                        const grpc::ClientContext& context,
                        const CallTarget& target) {
  if (status.ok()) return absl::OkStatus();
  const std::string request_id = RequestId(context);
  std::string message = status.error_message();
  message += DescribeDetails(status.error_details(), message);
  if (request_id.empty() &&
      status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    // gRPC's library says so of an answer in HTTP/1.1.
    const bool is_http = message.find("http1.x server") != std::string::npos;
    message = is_http ? fmt::format(
                            "{} is a port for HTTP or for metrics; give the "
                            "gRPC port, which is 50051 unless the server's "
                            "--listen says otherwise",
                            target.address)
                      : fmt::format(
                            "no server answers at {}: {}; is trivium-server "
                            "running there?",
                            target.address, message);
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    message = fmt::format("no answer from {} within {}: {}", target.address,
                          Seconds(target.timeout), message);
  }
  if (message.find(request_id) == std::string::npos) {
    message += fmt::format(" [request {}]", request_id);
  }
  // Both enumerations use the same numbers.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      message);
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status message;
  message.set_code(status.raw_code());
  message.set_message(std::string(status.message()));
  return message;
}

}  // namespace trivium
