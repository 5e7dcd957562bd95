#include "server/transports/grpc/grpc_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "server/errors/rpc_status.h"
#include "server/errors/status.h"

namespace trivium {

grpc::Status ToGrpcStatus(const absl::Status& status,
                          std::string_view request_id) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status details = ToRpcStatus(status);
  details.set_message(
      fmt::format("{} (request {})", details.message(), request_id));
  return grpc::Status(
      static_cast<grpc::StatusCode>(details.code()), details.message(),
      details.details().empty() ? "" : details.SerializeAsString());
}

std::vector<std::pair<std::string, std::string>> TrailersOf(
    const Ending& ending) {
  std::vector<std::pair<std::string, std::string>> trailers = {
      {"x-request-id", ending.request_id}};
  if (const auto delay = RetryDelay(ending.status)) {
    trailers.emplace_back(
        "grpc-retry-pushback-ms",
        fmt::format("{}",
                    std::max<int64_t>(1, absl::ToInt64Milliseconds(*delay))));
  }
  return trailers;
}

}  // namespace trivium
