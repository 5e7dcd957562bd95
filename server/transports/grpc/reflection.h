#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_REFLECTION_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_REFLECTION_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <vector>

#include "server/calls/environment.h"

namespace trivium {

// grpc.reflection.v1 and v1alpha over the descriptors that the program has. The
// library's own takes a thread for each open stream. For those who may call
// (Environment::access).
std::vector<std::unique_ptr<grpc::Service>> NewReflection(
    const Environment& environment);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_REFLECTION_H_
