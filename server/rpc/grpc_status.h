#ifndef TRIVIUM_SERVER_RPC_GRPC_STATUS_H_
#define TRIVIUM_SERVER_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"

namespace trivium {

// With code, message, and the payloads as google.rpc.Status. The message
// names the request, so that a user's report leads to the log's line.
grpc::Status ToGrpcStatus(const absl::Status& status,
                          std::string_view request_id);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_GRPC_STATUS_H_
