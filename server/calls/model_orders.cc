// LoadModel, ReloadModel and UnloadModel: order which models the server serves.
// A call waits for its order without a thread, and is answered on
// ModelControl's. An order is carried out even if its client no longer waits.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/calls/call.h"
#include "server/calls/convert/convert.h"
#include "server/calls/handlers.h"
#include "server/errors/status.h"
#include "trivium/v1/models.pb.h"

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
            transport_->Finish(call_.Close(model.status()), response);
          });
  }
  void OnCancel() final {}

 protected:
  // Parses the request and checks it.
  virtual absl::Status Take(Transport* transport) = 0;
  virtual void Order(ModelControl* control, ClientId client,
                     ModelControl::Done done) = 0;
  // The response, which lives as long as the call.
  virtual const google::protobuf::Message& Response(
      const ServedModel& model) = 0;

  const RequestLimits& limits() const { return call_.environment().limits; }

 private:
  Call call_;
  Transport* const transport_;
};

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxFolderBytes = 4096;

absl::Status CheckLength(const char* field, const std::string& text,
                         size_t max_bytes) {
  if (text.size() <= max_bytes) return absl::OkStatus();
  return InvalidField(field, fmt::format("has {} bytes; it has at most {}",
                                         text.size(), max_bytes));
}

absl::Status CheckName(const std::string& name) {
  if (name.empty()) return InvalidField("name", "is empty; name the model");
  return CheckLength("name", name, kMaxNameBytes);
}

class LoadModelCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 private:
  absl::Status Take(Transport* transport) override {
    TRIVIUM_RETURN_IF_ERROR(transport->Take(&request_));
    if (request_.folder().empty()) {
      return InvalidField("folder", "is empty; name a folder of --model-root");
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckLength("folder", request_.folder(), kMaxFolderBytes));
    TRIVIUM_RETURN_IF_ERROR(
        CheckLength("name", request_.name(), kMaxNameBytes));
    order_.folder = request_.folder();
    order_.name = request_.name();
    TRIVIUM_ASSIGN_OR_RETURN(order_.precision,
                             ToPrecision(request_.precision(), "precision"));
    TRIVIUM_ASSIGN_OR_RETURN(
        order_.kv_precision,
        ToPrecision(request_.kv_precision(), "kv_precision"));
    if (request_.has_vocabulary_shortlist()) {
      order_.shortlist = request_.vocabulary_shortlist();
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::optional<Precision>> ToPrecision(
      v1::Precision precision, const char* field) {
    switch (precision) {
      case v1::PRECISION_UNSPECIFIED:
        return std::optional<Precision>();
      case v1::PRECISION_F32:
        return Precision::kF32;
      case v1::PRECISION_BF16:
        return Precision::kBf16;
      case v1::PRECISION_INT8:
        return Precision::kInt8;
      default:
        return InvalidField(field, "is not one that this server knows");
    }
  }

  void Order(ModelControl* control, ClientId client,
             ModelControl::Done done) override {
    control->Load(client, std::move(order_), std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel& model) override {
    response_ = ConvertModel(model, limits());
    return response_;
  }

  v1::LoadModelRequest request_;
  ModelControl::LoadOrder order_;
  v1::Model response_;
};

class ReloadModelCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 private:
  absl::Status Take(Transport* transport) override {
    TRIVIUM_RETURN_IF_ERROR(transport->Take(&request_));
    return CheckName(request_.name());
  }
  void Order(ModelControl* control, ClientId client,
             ModelControl::Done done) override {
    control->Reload(client, request_.name(), std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel& model) override {
    response_ = ConvertModel(model, limits());
    return response_;
  }

  v1::ReloadModelRequest request_;
  v1::Model response_;
};

class UnloadModelCall : public OrderCall {
 public:
  using OrderCall::OrderCall;

 private:
  absl::Status Take(Transport* transport) override {
    TRIVIUM_RETURN_IF_ERROR(transport->Take(&request_));
    return CheckName(request_.name());
  }
  void Order(ModelControl* control, ClientId client,
             ModelControl::Done done) override {
    control->Unload(client, request_.name(), std::move(done));
  }
  const google::protobuf::Message& Response(const ServedModel&) override {
    return response_;
  }

  v1::UnloadModelRequest request_;
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
