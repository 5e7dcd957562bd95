// ModelInfer: sends texts to a model and returns its output.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kserve/open_inference.pb.h"
#include "server/adapters/http_status.h"
#include "server/adapters/kserve/adapter.h"
#include "server/adapters/kserve/infer_kinds.h"
#include "server/adapters/kserve/kserve.h"
#include "server/adapters/kserve/parameters.h"
#include "server/adapters/kserve/tensors.h"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using google::protobuf::Message;

class ModelInfer : public Adapter {
 public:
  ModelInfer(const Environment& environment, CallContext context,
             Transport* transport)
      : Adapter(environment, std::move(context), Rpc::kModelInfer, transport),
        generated_(environment.limits.max_response_bytes) {}

 private:
  absl::StatusOr<InnerCall> Begin(Transport* transport) override {
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(&request_));
    TRIVIUM_RETURN_IF_ERROR(CheckKserveVersion(request_.model_version()));
    TRIVIUM_ASSIGN_OR_RETURN(
        const ModelHandle model,
        models().FindFor(Rpc::kModelInfer, request_.model_name()));
    response_.set_model_name(model->name);
    kind_ = &KindOf(ConvertModel(*model, environment().limits));
    TRIVIUM_RETURN_IF_ERROR(CheckOutputs(request_, kind_->outputs));
    TRIVIUM_ASSIGN_OR_RETURN(
        std::vector<std::string> texts,
        TakeTexts(&request_, environment().limits.max_inputs));
    TRIVIUM_ASSIGN_OR_RETURN(InnerCall call,
                             kind_->ask(model->name, std::move(texts)));
    TRIVIUM_RETURN_IF_ERROR(
        SetOptions(request_.parameters(), call.request.get()));
    return call;
  }

  void Hear(const Message& response) override { generated_.Hear(response); }

  const Message* Answer(absl::Status* status, const Message* last) override {
    if (!status->ok()) {
      // The call's inputs are elements of the only one here.
      if (const auto error = InputErrorOf(*status)) {
        *status = InvalidField(
            "inputs[0]",
            fmt::format("element {}: {}", error->input, error->description));
      }
      return nullptr;
    }
    response_.set_model_version(kKserveVersion);
    response_.set_id(request_.id());
    OutputTensors outputs(request_, &response_);
    if (kind_->tell != nullptr) {
      kind_->tell(*last, &outputs);
    } else {
      if (last != nullptr) generated_.Hear(*last);
      *status = generated_.Tell(&outputs);
    }
    return &response_;
  }

  inference::ModelInferRequest request_;
  inference::ModelInferResponse response_;
  const InferKind* kind_ = nullptr;
  GeneratedAnswer generated_;
};

}  // namespace

std::unique_ptr<Handler> NewKserveInfer(const Environment& environment,
                                        CallContext context,
                                        Transport* transport) {
  return NewAdapter<ModelInfer>(environment, std::move(context), transport);
}

std::vector<KserveMethod> KserveMethods() {
  std::vector<KserveMethod> methods = {{"ModelInfer", NewKserveInfer}};
  for (const auto& part : {KserveServerMethods(), KserveRepositoryMethods()}) {
    methods.insert(methods.end(), part.begin(), part.end());
  }
  return methods;
}

}  // namespace trivium
