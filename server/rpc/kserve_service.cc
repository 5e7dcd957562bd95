#include "server/rpc/kserve_service.h"

#include "kserve/open_inference.grpc.pb.h"
#include "server/kserve/kserve.h"
#include "server/rpc/reactors.h"

namespace trivium {
namespace {

using Context = grpc::CallbackServerContext;
using Bytes = grpc::ByteBuffer;
using Api = inference::GRPCInferenceService;

using RawRepository = Api::WithRawCallbackMethod_ModelStatistics<
    Api::WithRawCallbackMethod_RepositoryIndex<
        Api::WithRawCallbackMethod_RepositoryModelLoad<
            Api::WithRawCallbackMethod_RepositoryModelUnload<Api::Service>>>>;
using RawModels = Api::WithRawCallbackMethod_ModelReady<
    Api::WithRawCallbackMethod_ModelMetadata<
        Api::WithRawCallbackMethod_ModelInfer<RawRepository>>>;
using RawServer = Api::WithRawCallbackMethod_ServerLive<
    Api::WithRawCallbackMethod_ServerReady<
        Api::WithRawCallbackMethod_ServerMetadata<RawModels>>>;

class KserveService : public RawServer {
 public:
  explicit KserveService(RpcEnvironment* environment)
      : environment_(environment) {}

  grpc::ServerUnaryReactor* ServerLive(Context* context, const Bytes* request,
                                       Bytes* response) override {
    return StartUnary(NewKserveServerLive, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* ServerReady(Context* context, const Bytes* request,
                                        Bytes* response) override {
    return StartUnary(NewKserveServerReady, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* ServerMetadata(Context* context,
                                           const Bytes* request,
                                           Bytes* response) override {
    return StartUnary(NewKserveServerMetadata, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* ModelReady(Context* context, const Bytes* request,
                                       Bytes* response) override {
    return StartUnary(NewKserveModelReady, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* ModelMetadata(Context* context,
                                          const Bytes* request,
                                          Bytes* response) override {
    return StartUnary(NewKserveModelMetadata, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* ModelInfer(Context* context, const Bytes* request,
                                       Bytes* response) override {
    return StartUnary(NewKserveModelInfer, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* ModelStatistics(Context* context,
                                            const Bytes* request,
                                            Bytes* response) override {
    return StartUnary(NewKserveModelStatistics, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* RepositoryIndex(Context* context,
                                            const Bytes* request,
                                            Bytes* response) override {
    return StartUnary(NewKserveRepositoryIndex, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* RepositoryModelLoad(Context* context,
                                                const Bytes* request,
                                                Bytes* response) override {
    return StartUnary(NewKserveRepositoryModelLoad, environment_, context,
                      request, response);
  }
  grpc::ServerUnaryReactor* RepositoryModelUnload(Context* context,
                                                  const Bytes* request,
                                                  Bytes* response) override {
    return StartUnary(NewKserveRepositoryModelUnload, environment_, context,
                      request, response);
  }

 private:
  RpcEnvironment* const environment_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewKserveService(RpcEnvironment* environment) {
  return std::make_unique<KserveService>(environment);
}

}  // namespace trivium
