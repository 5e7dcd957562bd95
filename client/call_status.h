#ifndef TRIVIUM_CLIENT_CALL_STATUS_H_
#define TRIVIUM_CLIENT_CALL_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace trivium {

// What a call's errors say besides what the server said.
struct CallTarget {
  std::string address;
  absl::Duration timeout;
};

// How a finished call went: the server's code and message, with the fields
// of google.rpc.BadRequest and the delay of google.rpc.RetryInfo that the
// message does not name itself, and the request id of the trailers. Where no
// server answered, says so and where it was looked for.
absl::Status CallStatus(const grpc::Status& status,
                        const grpc::ClientContext& context,
                        const CallTarget& target);

// A status without details as a message, as the API's streams send it.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_CALL_STATUS_H_
