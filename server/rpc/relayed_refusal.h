#ifndef TRIVIUM_SERVER_RPC_RELAYED_REFUSAL_H_
#define TRIVIUM_SERVER_RPC_RELAYED_REFUSAL_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "server/handlers/environment.h"
#include "server/rpc/header_fields.h"

namespace trivium {

// The header block (of trailers alone) that refuses a call with these fields
// from a client at `peer`, as its handler would in a moment (RefuseEarly).
// Nothing where it may be answered, or is none of ours, or not as gRPC has
// calls: gRPC tells that.
std::optional<std::string> RefuseRelayed(const Environment& environment,
                                         const HeaderFields& fields,
                                         const std::string& peer);

// The value of grpc-timeout ("200m" is 0.2 s); nothing where it is none.
std::optional<absl::Duration> ParseTimeout(std::string_view value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_RELAYED_REFUSAL_H_
