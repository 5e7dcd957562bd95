#include "server/errors/rpc_status.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "server/errors/status.h"

namespace trivium {

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status out;
  out.set_code(static_cast<int>(status.code()));  // absl's codes are gRPC's
  out.set_message(Shorten({status.message().data(), status.message().size()},
                          kMaxMessageBytes));
  status.ForEachPayload([&](auto url, const absl::Cord& payload) {
    if (absl::StartsWith(url, "trivium.internal/")) return;
    auto* detail = out.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(payload));
  });
  return out;
}

}  // namespace trivium
