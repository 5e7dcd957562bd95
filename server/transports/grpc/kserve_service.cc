#include "server/transports/grpc/kserve_service.h"

#include <fmt/format.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <string>

#include "server/adapters/kserve/kserve.h"
#include "server/transports/grpc/reactors.h"

namespace trivium {
namespace {

class KserveService : public grpc::Service {
 public:
  explicit KserveService(RpcEnvironment* environment) {
    for (const KserveMethod& method : KserveMethods()) {
      AddMethod(new grpc::internal::RpcServiceMethod(
          paths_
              .emplace_back(fmt::format("/{}/{}", kKserveService, method.name))
              .c_str(),
          grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
      MarkMethodRawCallback(
          static_cast<int>(paths_.size()) - 1,
          new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer,
                                                   grpc::ByteBuffer>(
              [start = method.start, environment](
                  grpc::CallbackServerContext* context,
                  const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
                return StartUnary(start, environment, context, request,
                                  response);
              }));
    }
  }

 private:
  std::deque<std::string> paths_;  // gRPC keeps pointers to them
};

}  // namespace

std::unique_ptr<grpc::Service> NewKserveService(RpcEnvironment* environment) {
  return std::make_unique<KserveService>(environment);
}

}  // namespace trivium
