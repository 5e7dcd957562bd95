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

bool StartsWithScheme(const std::string& address) {
  return address.rfind("http://", 0) == 0 || address.rfind("https://", 0) == 0;
}

// Why no server answers at an address, as gRPC's library says it, and what to
// do.
std::string DescribeNoAnswer(const std::string& address,
                             const std::string& reason) {
  constexpr char kUsual[] =
      "the gRPC port, which is 50051 unless the server's --listen says "
      "otherwise";
  const auto has = [&reason](const char* text) {
    return reason.find(text) != std::string::npos;
  };
  // gRPC's library says so of an answer in HTTP/1.1.
  if (has("http1.x server")) {
    return fmt::format("{} is a port for HTTP or for metrics; give {}", address,
                       kUsual);
  }
  if (StartsWithScheme(address)) {
    return fmt::format(
        "'{}' is no address of a server here: give HOST:PORT, such as "
        "127.0.0.1:50051, of {}",
        address, kUsual);
  }
  if (address.find(':') == std::string::npos) {
    const bool port =
        address.find_first_not_of("0123456789") == std::string::npos;
    return fmt::format("'{}' has no {}: give HOST:PORT, such as {}", address,
                       port ? "host" : "port",
                       port ? "127.0.0.1:" + address : address + ":50051");
  }
  if (address.front() == ':') {
    return fmt::format("'{}' has no host: give HOST:PORT, such as 127.0.0.1{}",
                       address, address);
  }
  if (has("Ssl handshake failed") && has("wrong version number")) {
    return fmt::format("the server at {} does not speak TLS: leave --tls out",
                       address);
  }
  return fmt::format(
      "no server answers at {}: {}; is trivium-server running there?", address,
      has("Connection refused") ? "the connection is refused" : reason);
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
    message = DescribeNoAnswer(target.address, message);
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
