#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_REFLECTION_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_REFLECTION_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <vector>

#include "server/calls/environment.h"

namespace trivium {

// Returns the services grpc.reflection.v1 and v1alpha, for those who may call
// (Environment::access). They serve the program's descriptors. gRPC's own
// implementation would occupy a thread for each open stream.
std::vector<std::unique_ptr<grpc::Service>> NewReflection(
    const Environment& environment);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_REFLECTION_H_
