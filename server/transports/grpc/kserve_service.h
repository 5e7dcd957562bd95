#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_KSERVE_SERVICE_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_KSERVE_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "server/transports/grpc/rpc_environment.h"

namespace trivium {

inline constexpr char kKserveService[] = "inference.GRPCInferenceService";

// Returns KServe's service (server/adapters/kserve), to register like those of
// NewServices.
std::unique_ptr<grpc::Service> NewKserveService(RpcEnvironment* environment);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_KSERVE_SERVICE_H_
