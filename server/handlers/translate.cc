// Translate: texts to texts in another language.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/handlers/handlers.h"
#include "server/handlers/translation.h"
#include "server/handlers/unary.h"

namespace trivium {
namespace {

class TranslateCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(request_.inputs_size(), "inputs", limits));
    TRIVIUM_ASSIGN_OR_RETURN(
        translation_, Translation::Create(environment(), call().model(),
                                          request_.options(), "options"));
    return absl::OkStatus();
  }

  int64_t TextBytes() const override {
    return trivium::TextBytes(request_.inputs());
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

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    size_t next = 0;  // blank inputs have no result
    for (const PreparedInput& input : inputs_) {
      *response_.add_results() =
          input.blank ? translation_->BlankResult()
                      : translation_->Result(input, std::move(results[next++]));
    }
    return WithTimings(&response_);
  }

  v1::TranslateRequest request_;
  v1::TranslateResponse response_;
  std::optional<Translation> translation_;
  std::vector<PreparedInput> inputs_;
  std::vector<int> input_of_request_;
};

}  // namespace

std::unique_ptr<Handler> NewTranslate(const Environment& environment,
                                      CallContext context,
                                      Transport* transport) {
  return std::make_unique<TranslateCall>(environment, std::move(context),
                                         Rpc::kTranslate, transport);
}

}  // namespace trivium
