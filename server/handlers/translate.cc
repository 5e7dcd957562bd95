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
    ExpectResponseBytes(item.response_bytes);
    if (!item.input.blank) {
      requests->push_back(std::move(item.request));
      input_of_request_.push_back(part);
    }
    inputs_.push_back(std::move(item.input));
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
    AddBlankResults(input);
    *response_.add_results() =
        translation_->Result(inputs_[input], std::move(result));
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    AddBlankResults(request_.inputs_size());
    return WithTimings(&response_);
  }

  // Of the inputs in front of `end`, which are blank and have no request.
  void AddBlankResults(int end) {
    while (response_.results_size() < end) {
      *response_.add_results() = translation_->BlankResult();
    }
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
