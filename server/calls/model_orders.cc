// LoadModel, ReloadModel and UnloadModel: order which models the server serves.
// A call waits for its order without a thread, and is answered on
// ModelControl's. An order that has begun is carried out even if its client no
// longer waits.
#include <string>
#include <utility>

#include "base/exceptions.h"
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
    const absl::Status status = CatchExceptions([this] { GiveOrder(); });
    if (!status.ok()) transport_->Finish(call_.Close(status), nullptr);
  }
  void OnCancel() final {}

 protected:
  // Parses the request and checks it.
  virtual absl::Status ReadFrom(Transport* transport) = 0;
  // If it throws for lack of memory, there is no order.
  virtual void Order(ModelControl* control, ModelControl::Giver giver,
                     ModelControl::Done done) = 0;
  // Returns the status for the client of an order that ended with `status`.
  virtual absl::Status AsTold(const absl::Status& status) const {
    return status;
  }
  // The response, which lives as long as the call.
  virtual const google::protobuf::Message& Response(
      const ServedModel& model) = 0;

  const RequestLimits& limits() const { return call_.environment().limits; }
  const AllowedModels& models() const { return call_.models(); }

 private:
  void GiveOrder() {
    absl::Status status = call_.admitted();
    if (status.ok()) status = call_.MayOrder();
    if (status.ok()) status = ReadFrom(transport_);
    if (status.ok() && call_.environment().model_control == nullptr) {
      status = absl::FailedPreconditionError(
          "this server serves the models that it was started with; start it "
          "with --model-root FOLDER to load, reload and unload those below");
    }
    if (!status.ok()) return transport_->Finish(call_.Close(status), nullptr);
    Order(call_.environment().model_control, {call_.client(), call_.deadline()},
          [this](const absl::StatusOr<ModelHandle>& model) {
            const google::protobuf::Message* response = nullptr;
            const absl::Status told = CatchExceptions([&] {
              if (model.ok()) response = &Response(**model);
              return AsTold(model.status());
            });
            transport_->Finish(call_.Close(told),
                               told.ok() ? response : nullptr);
          });
  }

  Call call_;
  Transport* const transport_;
};

// "a/opus/" -> "opus"
std::string LastPart(const std::string& folder) {
  const size_t end = folder.find_last_not_of('/') + 1;
  const size_t begin = folder.find_last_of('/', end - 1) + 1;
  return folder.substr(begin, end - begin);
}

class LoadModelCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 private:
  absl::Status ReadFrom(Transport* transport) override {
    v1::LoadModelRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(&request));
    TRIVIUM_ASSIGN_OR_RETURN(order_, ReadOrder(request));
    // The folder, too: otherwise a token could give any model an allowed name.
    TRIVIUM_RETURN_IF_ERROR(models().MayLoad(LastPart(order_.folder)));
    return order_.name.empty() ? absl::OkStatus()
                               : models().MayLoad(order_.name);
  }

  void Order(ModelControl* control, ModelControl::Giver giver,
             ModelControl::Done done) override {
    control->Load(giver, std::move(order_), std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel& model) override {
    response_ = ConvertModel(model, limits());
    return response_;
  }

  ModelControl::LoadOrder order_;
  v1::Model response_;
};

// An order for a model that is served.
class NamedOrderCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 protected:
  // NOT_FOUND if the token does not allow a model of that name. Whether there
  // is one is known only when the orders before this one are carried out.
  absl::Status SetName(std::string name) {
    name_ = std::move(name);
    return models().Allows(name_) ? absl::OkStatus()
                                  : models().Find(name_).status();
  }
  const std::string& name() const { return name_; }

 private:
  // NOT_FOUND lists the models that there are for this client.
  absl::Status AsTold(const absl::Status& status) const final {
    if (!absl::IsNotFound(status)) return status;
    const absl::StatusOr<ModelHandle> found = models().Find(name_);
    return found.ok() ? status : found.status();
  }

  std::string name_;
};

class ReloadModelCall : public NamedOrderCall {
 public:
  using NamedOrderCall::NamedOrderCall;

 private:
  absl::Status ReadFrom(Transport* transport) override {
    v1::ReloadModelRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(&request));
    TRIVIUM_ASSIGN_OR_RETURN(std::string name, ReadOrder(request));
    return SetName(std::move(name));
  }
  void Order(ModelControl* control, ModelControl::Giver giver,
             ModelControl::Done done) override {
    control->Reload(giver, name(), std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel& model) override {
    response_ = ConvertModel(model, limits());
    return response_;
  }

  v1::Model response_;
};

class UnloadModelCall : public NamedOrderCall {
 public:
  using NamedOrderCall::NamedOrderCall;

 private:
  absl::Status ReadFrom(Transport* transport) override {
    v1::UnloadModelRequest request;
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(&request));
    TRIVIUM_ASSIGN_OR_RETURN(std::string name, ReadOrder(request));
    return SetName(std::move(name));
  }
  void Order(ModelControl* control, ModelControl::Giver giver,
             ModelControl::Done done) override {
    control->Unload(giver, name(), std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel&) override {
    return response_;
  }

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
