#include "server/rpc/grpc_status.h"

#include <fmt/format.h>

#include <string>

#include "absl/strings/cord.h"
#include "google/rpc/status.pb.h"
#include "server/handlers/status.h"

namespace trivium {

grpc::Status ToGrpcStatus(const absl::Status& status,
                          std::string_view request_id) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message =
      fmt::format("{} (request {})",
                  Shorten({status.message().data(), status.message().size()},
                          kMaxMessageBytes),
                  request_id);
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(message);
  status.ForEachPayload([&](auto url, const absl::Cord& payload) {
    auto* detail = details.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(payload));
  });
  // absl's codes are gRPC's.
  return grpc::Status(
      static_cast<grpc::StatusCode>(status.code()), message,
      details.details().empty() ? "" : details.SerializeAsString());
}

}  // namespace trivium
