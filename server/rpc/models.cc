// ListModels and GetModel: what the server has loaded.
#include "base/status.h"
#include "server/rpc/convert.h"
#include "server/rpc/handlers.h"
#include "server/rpc/unary.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

class ListModelsCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    v1::ListModelsRequest message;
    return ParseMessage(request, environment().limits.max_request_bytes,
                        &message);
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    return std::vector<Request>();
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    v1::ListModelsResponse message;
    for (const ServedModel& model : environment().models) {
      *message.add_models() = ConvertModel(model, environment().limits);
    }
    return SerializeMessage(message, environment().limits.max_response_bytes,
                            response);
  }
};

class GetModelCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    v1::GetModelRequest message;
    TRIVIUM_RETURN_IF_ERROR(ParseMessage(
        request, environment().limits.max_request_bytes, &message));
    TRIVIUM_ASSIGN_OR_RETURN(const ServedModel* model,
                             FindModel(environment(), message.name()));
    call().set_model(model);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    return std::vector<Request>();
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    return SerializeMessage(ConvertModel(call().model(), environment().limits),
                            environment().limits.max_response_bytes, response);
  }
};

}  // namespace

grpc::ServerUnaryReactor* HandleListModels(const Environment& environment,
                                           grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) {
  auto* call = new ListModelsCall(environment, context, Rpc::kListModels,
                                  request, response);
  call->Start();
  return call;
}

grpc::ServerUnaryReactor* HandleGetModel(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) {
  auto* call =
      new GetModelCall(environment, context, Rpc::kGetModel, request, response);
  call->Start();
  return call;
}

}  // namespace trivium
