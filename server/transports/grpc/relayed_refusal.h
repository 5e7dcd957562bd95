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
#include "server/transports/grpc/relay.h"

namespace trivium {

// The header field in which the relay passes a call's id to the call's handler
// (CallContext::in_transit). Stripped from client requests.
inline constexpr std::string_view kInTransitField = "trivium-expected";

// Judges a call with these header fields:
//   - Every call needs a place among the open calls (OpenCalls), or is refused.
//   - A call that its handler would refuse anyway (CheckEarly) gets the header
//     block, trailers only, that refuses it.
//   - Another call gets an id, which is added to `fields`; one that goes to the
//     batcher is counted on its way (TrackCallInTransit).
//   - A call of one request needs a turn to begin (CallTurns).
//   - gRPC answers calls that are not ours or not valid.
Http2Guard::Judgement JudgeRelayed(const Environment& environment,
                                   OpenCalls* open_calls, CallTurns* turns,
                                   const Relay::Origin& origin, bool may_refuse,
                                   HeaderFields* fields);

// Returns the header block that refuses a call whose message finds no room
// (IncomingMessages).
std::string NoRoomRefusal(const Environment& environment);

// Parses the value of grpc-timeout ("200m" is 0.2 s). Nothing if it is not
// valid.
std::optional<absl::Duration> ParseTimeout(std::string_view value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_REFUSAL_H_
