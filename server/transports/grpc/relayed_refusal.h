#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_REFUSAL_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_REFUSAL_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "server/calls/environment.h"
#include "server/limits/open_calls.h"
#include "server/transports/grpc/header_fields.h"
#include "server/transports/grpc/http2_guard.h"

namespace trivium {

// The field with which the relay tells the server which CallInTransit it is; of
// clients nobody takes it.
inline constexpr std::string_view kInTransitField = "trivium-expected";

// Of a call with these fields from a client at `peer`: the header block (of
// trailers alone) that refuses it as its handler would in a moment
// (RefuseEarly), where it may be refused; else, what counts it on its way to
// its handler. Neither of one that is none of ours, or not as gRPC has calls:
// gRPC tells that. But any has a place among those that are open, or is
// refused.
Http2Guard::Judgement JudgeRelayed(const Environment& environment,
                                   OpenCalls* open_calls,
                                   const std::string& peer, bool may_refuse,
                                   HeaderFields* fields);

// The value of grpc-timeout ("200m" is 0.2 s); nothing where it is none.
std::optional<absl::Duration> ParseTimeout(std::string_view value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_REFUSAL_H_
