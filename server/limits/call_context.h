#ifndef TRIVIUM_SERVER_LIMITS_CALL_CONTEXT_H_
#define TRIVIUM_SERVER_LIMITS_CALL_CONTEXT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/batching/request.h"
#include "server/limits/access.h"
#include "server/limits/byte_account.h"

namespace trivium {

// A call as its transport knows it before the request is read. Times are of
// Environment::clock. Cancellation comes later, as Handler::OnCancel.
struct CallContext {
  // The client's metadata as it arrived, not checked. Empty if there is none.
  std::string request_id = "";   // x-request-id
  std::string traceparent = "";  // W3C Trace Context
  std::string tracestate = "";   // several are joined with commas
  std::string peer = "";         // the client's address, as gRPC writes it
  std::string priority = "";     // kPriorityKey
  // The method and path of the call's route over HTTP. Empty: gRPC.
  std::string_view http_method = "", http_route = "";
  // Maps the call's status to the HTTP status of its answer; called at its end.
  // Null: gRPC.
  std::function<int(const absl::Status&)> http_status = nullptr;
  // The value of RequestLimits::client_key_header, or the name of the call's
  // token.
  std::string client_key = "";
  // The permissions of the call's token. Null: anything is allowed.
  std::shared_ptr<const Grant> grant = nullptr;
  // The reason to refuse the call before it begins, or OK.
  absl::Status access = absl::OkStatus();
  // CallInTransit::id(); 0: the call is not in transit.
  CallId in_transit = 0;
  // Counts the memory that the call holds. Null: it is not counted.
  std::shared_ptr<CallBytes> held = nullptr;
  // Unset: the server's default for this kind of call.
  std::optional<absl::Time> deadline = std::nullopt;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_CALL_CONTEXT_H_
