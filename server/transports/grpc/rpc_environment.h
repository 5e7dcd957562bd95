#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RPC_ENVIRONMENT_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RPC_ENVIRONMENT_H_

#include "server/calls/environment.h"
#include "server/limits/overload_manager.h"
#include "server/transports/grpc/reset_streams.h"

namespace trivium {

// Objects shared by all gRPC calls. Outlives the calls.
struct RpcEnvironment {
  const Environment& handlers;
  ResetStreams resets;
  OverloadManager& overload;

  RpcEnvironment(const Environment& environment,
                 OverloadManager* overload_manager)
      : handlers(environment), overload(*overload_manager) {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RPC_ENVIRONMENT_H_
