#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RPC_ENVIRONMENT_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RPC_ENVIRONMENT_H_

#include <cstddef>

#include "server/calls/environment.h"
#include "server/limits/overload_manager.h"
#include "server/transports/grpc/call_turns.h"
#include "server/transports/grpc/reset_streams.h"

namespace trivium {

// Objects shared by all gRPC calls. Outlives the calls.
struct RpcEnvironment {
  // Enough that gRPC's threads always have the next one; so few that a call
  // whose turn comes is begun within milliseconds.
  static constexpr size_t kMostBeginning = 64;

  const Environment& handlers;
  ResetStreams resets;
  CallTurns turns{kMostBeginning};
  OverloadManager& overload;

  RpcEnvironment(const Environment& environment,
                 OverloadManager* overload_manager)
      : handlers(environment), overload(*overload_manager) {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RPC_ENVIRONMENT_H_
