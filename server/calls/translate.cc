// Translate: translates texts into another language.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/calls/call_translation.h"
#include "server/calls/convert/convert.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

class TranslateCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(transport()->ParseRequest(&request_));
    TRIVIUM_RETURN_IF_ERROR(call().FindModel(request_.model()));
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(request_.inputs_size(), "inputs", limits));
    TRIVIUM_ASSIGN_OR_RETURN(
        translation_,
        CallTranslation::Create(
            &call(), /*named=*/call().models().Names(request_.model()),
            request_.options(), "options", call().alive_check(),
            [this] { return call().CheckAdmission(); }));
    return absl::OkStatus();
  }

  // Otherwise admission is checked once the first text has chosen the model.
  bool NeedsBatcher() const override { return translation_->same_for_all(); }
  int parts() const override { return request_.inputs_size(); }
  int64_t TextBytes(int part) const override {
    return translation_->TextBytes(request_.inputs(part));
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    if (part == 0) {
      TRIVIUM_RETURN_IF_ERROR(translation_->Compose());
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        CallTranslation::Job job,
        translation_->Prepare(request_.inputs(part), Path(part)));
    const int most = environment().limits.max_inputs;
    if (requests->size() + job.requests.size() > static_cast<size_t>(most)) {
      return InvalidField(
          Path(part) + ".text",
          fmt::format("and the texts before it have more than {} sentences, "
                      "and a call takes no more; send fewer texts in a call",
                      most));
    }
    ExpectResponseBytes(job.response_bytes);
    response_.add_results();
    jobs_.push_back(std::move(job));
    MoveRequests(part, requests);
    AnswerIfDone(part);
    return absl::OkStatus();
  }

  void MoveRequests(int input, std::vector<Request>* out) {
    for (Request& request : std::exchange(jobs_[input].requests, {})) {
      out->push_back(std::move(request));
      input_of_request_.push_back(input);
    }
  }

  static std::string Path(int input) {
    return fmt::format("inputs[{}]", input);
  }

  std::string FieldOf(int request) const override {
    return Path(input_of_request_[request]);
  }

  absl::Status HandleResult(int request, RequestResult result) override {
    const int input = input_of_request_[request];
    TRIVIUM_RETURN_IF_ERROR(
        translation_->AddResult(std::move(result), &jobs_[input]));
    AnswerIfDone(input);
    return absl::OkStatus();
  }

  void AnswerIfDone(int input) {
    if (!jobs_[input].done()) return;
    *response_.mutable_results(input) =
        translation_->Result(std::move(jobs_[input]));
  }

  // Takes the requests of as many inputs as fit into one round: together at
  // most max_inputs requests, but at least one input.
  std::vector<Request> NextRequests() override {
    std::vector<Request> more;
    input_of_request_.clear();
    const auto most = static_cast<size_t>(environment().limits.max_inputs);
    for (int i = 0; i < request_.inputs_size(); ++i) {
      const size_t count = jobs_[i].requests.size();
      if (!more.empty() && more.size() + count > most) continue;
      MoveRequests(i, &more);
    }
    return more;
  }

  const google::protobuf::Message& Response() override {
    return WithTimings(&response_);
  }

  v1::TranslateRequest request_;
  v1::TranslateResponse response_;
  std::optional<CallTranslation> translation_;
  std::vector<CallTranslation::Job> jobs_;  // [inputs] that are prepared
  std::vector<int> input_of_request_;       // of those that were submitted last
};

}  // namespace

std::unique_ptr<Handler> NewTranslate(const Environment& environment,
                                      CallContext context,
                                      Transport* transport) {
  return std::make_unique<TranslateCall>(environment, std::move(context),
                                         Rpc::kTranslate, transport);
}

}  // namespace trivium
