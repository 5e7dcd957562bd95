// ListModels and GetModel: describe the models that the server has loaded.
#include "server/calls/convert/models.h"

#include "base/status.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

class ListModelsCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    v1::ListModelsRequest request;
    return transport()->ParseRequest(&request);
  }

  bool NeedsBatcher() const override { return false; }
  absl::Status Prepare(int, std::vector<Request>*) override {
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    for (const ModelHandle& model : call().models().List()) {
      AddModel(*model, environment().limits, &response_);
    }
    return response_;
  }

  v1::ListModelsResponse response_;
};

class GetModelCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    v1::GetModelRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport()->ParseRequest(&request));
    return call().FindModel(ReadName(request));
  }

  bool NeedsBatcher() const override { return false; }
  absl::Status Prepare(int, std::vector<Request>*) override {
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    response_ = ConvertModel(call().model(), environment().limits);
    return response_;
  }

  v1::Model response_;
};

}  // namespace

std::unique_ptr<Handler> NewListModels(const Environment& environment,
                                       CallContext context,
                                       Transport* transport) {
  return std::make_unique<ListModelsCall>(environment, std::move(context),
                                          Rpc::kListModels, transport);
}

std::unique_ptr<Handler> NewGetModel(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<GetModelCall>(environment, std::move(context),
                                        Rpc::kGetModel, transport);
}

}  // namespace trivium
