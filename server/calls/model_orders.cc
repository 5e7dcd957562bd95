// LoadModel, ReloadModel and UnloadModel: order which models the server serves.
// A call waits for its order without a thread, and is answered on
// ModelControl's. An order is carried out even if its client no longer waits.
#include <string>
#include <utility>

#include "base/status.h"
#include "server/calls/allowed_models.h"
#include "server/calls/call.h"
#include "server/calls/convert/models.h"
#include "server/calls/handlers.h"

namespace trivium {
namespace {

class OrderCall : public Handler {
 public:
  OrderCall(const Environment& environment, CallContext context, Rpc rpc,
            Transport* transport)
      : call_(environment, std::move(context), rpc), transport_(transport) {}

  void Start() final {
    absl::Status status = call_.admitted();
    if (status.ok()) status = call_.MayOrder();
    if (status.ok()) status = Take(transport_);
    if (status.ok() && call_.environment().model_control == nullptr) {
      status = absl::FailedPreconditionError(
          "this server serves the models that it was started with; start it "
          "with --model-root FOLDER to load, reload and unload those below");
    }
    if (!status.ok()) return transport_->Finish(call_.Close(status), nullptr);
    Order(call_.environment().model_control, call_.client(),
          [this](const absl::StatusOr<ModelHandle>& model) {
            const google::protobuf::Message* response = nullptr;
            if (model.ok()) response = &Response(**model);
            transport_->Finish(call_.Close(AsTold(model.status())), response);
          });
  }
  void OnCancel() final {}

 protected:
  // Parses the request and checks it.
  virtual absl::Status Take(Transport* transport) = 0;
  virtual void Order(ModelControl* control, ClientId client,
                     ModelControl::Done done) = 0;
  // The status for the client of an order that ended with `status`.
  virtual absl::Status AsTold(const absl::Status& status) const {
    return status;
  }
  // The response, which lives as long as the call.
  virtual const google::protobuf::Message& Response(
      const ServedModel& model) = 0;

  const RequestLimits& limits() const { return call_.environment().limits; }
  const AllowedModels& models() const { return call_.models(); }
  // NOT_FOUND lists the models that there are for this client.
  absl::Status ListedIfNotFound(const absl::Status& status,
                                const std::string& name) const {
    if (!absl::IsNotFound(status)) return status;
    const absl::StatusOr<ModelHandle> found = models().Find(name);
    return found.ok() ? status : found.status();
  }

 private:
  Call call_;
  Transport* const transport_;
};

class LoadModelCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 private:
  absl::Status Take(Transport* transport) override {
    v1::LoadModelRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport->Take(&request));
    TRIVIUM_ASSIGN_OR_RETURN(order_, ReadOrder(request));
    return models().MayLoad(NameOf(order_));
  }

  void Order(ModelControl* control, ClientId client,
             ModelControl::Done done) override {
    control->Load(client, std::move(order_), std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel& model) override {
    response_ = ConvertModel(model, limits());
    return response_;
  }

  ModelControl::LoadOrder order_;
  // The name under which the model will be served.
  static std::string NameOf(const ModelControl::LoadOrder& order) {
    if (!order.name.empty()) return order.name;
    const size_t end = order.folder.find_last_not_of('/') + 1;
    const size_t begin = order.folder.find_last_of('/', end - 1) + 1;
    return order.folder.substr(begin, end - begin);
  }

  v1::Model response_;
};

class ReloadModelCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 private:
  absl::Status Take(Transport* transport) override {
    v1::ReloadModelRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport->Take(&request));
    TRIVIUM_ASSIGN_OR_RETURN(name_, ReadOrder(request));
    if (models().Allows(name_)) return absl::OkStatus();
    return models().Find(name_).status();
  }
  void Order(ModelControl* control, ClientId client,
             ModelControl::Done done) override {
    control->Reload(client, name_, std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel& model) override {
    response_ = ConvertModel(model, limits());
    return response_;
  }

  absl::Status AsTold(const absl::Status& status) const override {
    return ListedIfNotFound(status, name_);
  }

  std::string name_;
  v1::Model response_;
};

class UnloadModelCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 private:
  absl::Status Take(Transport* transport) override {
    v1::UnloadModelRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport->Take(&request));
    TRIVIUM_ASSIGN_OR_RETURN(name_, ReadOrder(request));
    if (models().Allows(name_)) return absl::OkStatus();
    return models().Find(name_).status();
  }
  void Order(ModelControl* control, ClientId client,
             ModelControl::Done done) override {
    control->Unload(client, name_, std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel&) override {
    return response_;
  }

  absl::Status AsTold(const absl::Status& status) const override {
    return ListedIfNotFound(status, name_);
  }

  std::string name_;
  v1::UnloadModelResponse response_;
};

}  // namespace

std::unique_ptr<Handler> NewLoadModel(const Environment& environment,
                                      CallContext context,
                                      Transport* transport) {
  return std::make_unique<LoadModelCall>(environment, std::move(context),
                                         Rpc::kLoadModel, transport);
}

std::unique_ptr<Handler> NewReloadModel(const Environment& environment,
                                        CallContext context,
                                        Transport* transport) {
  return std::make_unique<ReloadModelCall>(environment, std::move(context),
                                           Rpc::kReloadModel, transport);
}

std::unique_ptr<Handler> NewUnloadModel(const Environment& environment,
                                        CallContext context,
                                        Transport* transport) {
  return std::make_unique<UnloadModelCall>(environment, std::move(context),
                                           Rpc::kUnloadModel, transport);
}

}  // namespace trivium
