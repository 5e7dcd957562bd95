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

// What a transport knows of a call before it has read its request. Time is
// the Environment's clock; cancellation comes later, as Handler::OnCancel.
struct CallContext {
  // The client's metadata of these names as they came, not checked; empty
  // where there is none.
  std::string request_id = "";   // x-request-id
  std::string traceparent = "";  // W3C Trace Context
  std::string tracestate = "";   // the same's, several joined with commas
  std::string peer = "";         // the client's address, as gRPC writes it
  std::string priority = "";     // kPriorityKey
  // Of a call of HTTP, the method and path of its route; empty: gRPC.
  std::string_view http_method = "", http_route = "";
  // Of a call of HTTP, the answer's status for the call's, asked at its end.
  std::function<int(const absl::Status&)> http_status = nullptr;
  // RequestLimits::client_key_header's, or the name of the call's token.
  std::string client_key = "";
  // What the call's token allows; null: anything.
  std::shared_ptr<const Grant> grant = nullptr;
  // Why the call is refused before it begins.
  absl::Status access = absl::OkStatus();
  // The id of its CallInTransit; 0: it has none.
  CallId in_transit = 0;
  // Where it counts what it holds; null: nowhere.
  std::shared_ptr<CallBytes> held = nullptr;
  // Unset: the server's default for such calls.
  std::optional<absl::Time> deadline = std::nullopt;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_CALL_CONTEXT_H_
