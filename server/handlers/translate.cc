// Translate: texts to texts in another language.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/handlers/handlers.h"
#include "server/handlers/status.h"
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
        translation_,
        Translation::Create(environment(), call().model(), request_.options(),
                            "options", [this] { return call().Wanted(); }));
    return absl::OkStatus();
  }

  int parts() const override { return request_.inputs_size(); }
  int64_t TextBytes(int part) const override {
    return trivium::TextBytes(request_.inputs(part));
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    TRIVIUM_ASSIGN_OR_RETURN(
        Translation::Item item,
        translation_->Prepare(request_.inputs(part), Path(part)));
    const int most = environment().limits.max_inputs;
    if (requests->size() + item.requests.size() > static_cast<size_t>(most)) {
      return InvalidField(
          Path(part) + ".text",
          fmt::format("and the texts before it have more than {} sentences, "
                      "and a call takes no more; send fewer texts in a call",
                      most));
    }
    ExpectResponseBytes(item.response_bytes);
    for (Request& request : item.requests) {
      requests->push_back(std::move(request));
      input_of_request_.push_back(part);
    }
    texts_.push_back(std::move(item.text));
    return absl::OkStatus();
  }

  static std::string Path(int input) {
    return fmt::format("inputs[{}]", input);
  }

  std::string FieldOf(int request) const override {
    return Path(input_of_request_[request]);
  }

  absl::Status Respond(int request, RequestResult result) override {
    const int input = input_of_request_[request];
    AddResults(input);  // of the inputs before, which are blank
    const auto& parts = texts_[input].parts;
    parts_.push_back(translation_->PartResult(parts[parts_.size()].input,
                                              std::move(result)));
    if (parts_.size() == parts.size()) AddResults(input + 1);
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    AddResults(request_.inputs_size());
    return WithTimings(&response_);
  }

  // Of the inputs in front of `end`: of the first of them parts_ are the
  // results.
  void AddResults(int end) {
    while (response_.results_size() < end) {
      const TextParts& text = texts_[response_.results_size()];
      *response_.add_results() =
          translation_->Result(text, std::exchange(parts_, {}));
    }
  }

  v1::TranslateRequest request_;
  v1::TranslateResponse response_;
  std::optional<Translation> translation_;
  std::vector<TextParts> texts_;
  std::vector<int> input_of_request_;
  std::vector<v1::TranslateResult> parts_;  // of the text that is answered
};

}  // namespace

std::unique_ptr<Handler> NewTranslate(const Environment& environment,
                                      CallContext context,
                                      Transport* transport) {
  return std::make_unique<TranslateCall>(environment, std::move(context),
                                         Rpc::kTranslate, transport);
}

}  // namespace trivium
