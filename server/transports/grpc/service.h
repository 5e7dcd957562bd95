#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_SERVICE_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <memory>
#include <vector>

#include "server/transports/grpc/rpc_environment.h"

namespace trivium {

// Returns the services of trivium.v1, KServe's and reflection, to register with
// a grpc::ServerBuilder. They and `environment` outlive the server.
std::vector<std::unique_ptr<grpc::Service>> NewServices(
    RpcEnvironment* environment);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_SERVICE_H_
