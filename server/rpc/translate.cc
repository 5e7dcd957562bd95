// Translate: texts to texts in another language.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/rpc/handlers.h"
#include "server/rpc/translation.h"
#include "server/rpc/unary.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

class TranslateCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        ParseMessage(request, limits.max_request_bytes, &request_));
    TRIVIUM_ASSIGN_OR_RETURN(const ServedModel* model,
                             FindModel(environment(), request_.model()));
    call().set_model(model);
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(request_.inputs_size(), "inputs", limits));
    TRIVIUM_ASSIGN_OR_RETURN(
        translation_, Translation::Create(environment(), *model,
                                          request_.options(), "options"));
    return absl::OkStatus();
  }

  int64_t TextBytes() const override {
    int64_t bytes = 0;
    for (const v1::Input& input : request_.inputs()) {
      bytes += trivium::TextBytes(input);
    }
    return bytes;
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    std::vector<Request> requests;
    int64_t response_bytes = 0;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      TRIVIUM_ASSIGN_OR_RETURN(
          Translation::Item item,
          translation_->Prepare(request_.inputs(i), Path(i)));
      response_bytes += item.response_bytes;
      if (!item.input.blank) {
        requests.push_back(std::move(item.request));
        input_of_request_.push_back(i);
      }
      inputs_.push_back(std::move(item.input));
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckResponseBytes(response_bytes, environment().limits));
    return requests;
  }

  static std::string Path(int input) {
    return fmt::format("inputs[{}]", input);
  }

  std::string FieldOf(int request) const override {
    return Path(input_of_request_[request]);
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    v1::TranslateResponse message;
    size_t next = 0;  // blank inputs have no result
    for (const PreparedInput& input : inputs_) {
      *message.add_results() =
          input.blank ? translation_->BlankResult()
                      : translation_->Result(input, std::move(results[next++]));
    }
    *message.mutable_timings() = call().timings();
    *message.mutable_model() = call().model_version();
    return SerializeMessage(message, environment().limits.max_response_bytes,
                            response);
  }

  v1::TranslateRequest request_;
  std::optional<Translation> translation_;
  std::vector<PreparedInput> inputs_;
  std::vector<int> input_of_request_;
};

}  // namespace

grpc::ServerUnaryReactor* HandleTranslate(const Environment& environment,
                                          grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) {
  auto* call = new TranslateCall(environment, context, Rpc::kTranslate, request,
                                 response);
  call->Start();
  return call;
}

}  // namespace trivium
