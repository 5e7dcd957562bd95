#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_GRPC_STATUS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/calls/transport.h"

namespace trivium {

// Converts a status: code, message, and the payloads as google.rpc.Status. The
// message names the request, so that a user's report leads to the log's line.
grpc::Status ToGrpcStatus(const absl::Status& status,
                          std::string_view request_id);

// Returns the trailers beside the status: [name, value].
std::vector<std::pair<std::string, std::string>> TrailersOf(
    const Ending& ending);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_GRPC_STATUS_H_
