#ifndef TRIVIUM_SERVER_RPC_REFLECTION_H_
#define TRIVIUM_SERVER_RPC_REFLECTION_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

namespace trivium {

// grpc.reflection.v1 over the descriptors that the program has, beside the
// v1alpha of the library.
std::unique_ptr<grpc::Service> NewReflection();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_REFLECTION_H_
