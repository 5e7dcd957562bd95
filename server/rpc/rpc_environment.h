#ifndef TRIVIUM_SERVER_RPC_RPC_ENVIRONMENT_H_
#define TRIVIUM_SERVER_RPC_RPC_ENVIRONMENT_H_

#include "server/handlers/environment.h"
#include "server/rpc/overload_manager.h"
#include "server/rpc/reset_streams.h"

namespace trivium {

// What every call of gRPC works with; it outlives them.
struct RpcEnvironment {
  const Environment& handlers;
  ResetStreams resets;
  OverloadManager overload;

  explicit RpcEnvironment(const Environment& environment)
      : handlers(environment),
        overload(OverloadManager::ForThisProcess(), environment.metrics) {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_RPC_ENVIRONMENT_H_
