#ifndef TRIVIUM_SERVER_ERRORS_RPC_STATUS_H_
#define TRIVIUM_SERVER_ERRORS_RPC_STATUS_H_

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace trivium {

// The message of a status: its payloads are the details, and its text is cut to
// kMaxMessageBytes.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ERRORS_RPC_STATUS_H_
