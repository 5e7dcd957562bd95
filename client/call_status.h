#ifndef TRIVIUM_CLIENT_CALL_STATUS_H_
#define TRIVIUM_CLIENT_CALL_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace trivium {

// The server and the time limit of a call, for its error messages.
struct CallTarget {
  std::string address;
  absl::Duration timeout;
};

// Converts the status of a finished call. The result has the server's code and
// message. It adds the fields of google.rpc.BadRequest and the delay of
// google.rpc.RetryInfo, unless the message names them, and the request id of
// the trailers. If no server answered, it says so and names the address.
absl::Status CallStatus(const grpc::Status& status,
                        const grpc::ClientContext& context,
                        const CallTarget& target);

// Converts a status to the message that the API's streams send, without
// details.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_CALL_STATUS_H_
