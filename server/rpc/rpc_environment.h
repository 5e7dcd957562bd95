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

  // `memory_bytes`: what the process may use; 0: what the cgroup or the machine
  // has.
  RpcEnvironment(const Environment& environment, int64_t memory_bytes)
      : handlers(environment),
        overload(OverloadManager::ForThisProcess(memory_bytes),
                 environment.metrics) {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_RPC_ENVIRONMENT_H_
