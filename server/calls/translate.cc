// Translate: translates texts into another language.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/status.h"
#include "server/batching/request_cost.h"
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
    for (const Request& request : job.requests) {
      first_tokens_ += TokensOf(request);
    }
    jobs_.push_back(std::move(job));
    int64_t tokens = std::numeric_limits<int64_t>::max();
    MoveRequests(part, &tokens, requests);
    AnswerIfDone(part);
    return absl::OkStatus();
  }

  void MoveRequests(int input, int64_t* tokens, std::vector<Request>* out) {
    const auto most = static_cast<size_t>(environment().limits.max_inputs);
    CallTranslation::MoveRequests(&jobs_[input], most, tokens, out);
    input_of_request_.resize(out->size(), input);
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

  // Takes as many requests, in the inputs' order, as fit into one round.
  std::vector<Request> NextRequests() override {
    std::vector<Request> more;
    input_of_request_.clear();
    int64_t tokens =
        std::max(first_tokens_, CallTranslation::kLeastRoundTokens);
    for (int i = 0; i < request_.inputs_size(); ++i) {
      MoveRequests(i, &tokens, &more);
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
  int64_t first_tokens_ = 0;                // of the first round
};

}  // namespace

std::unique_ptr<Handler> NewTranslate(const Environment& environment,
                                      CallContext context,
                                      Transport* transport) {
  return std::make_unique<TranslateCall>(environment, std::move(context),
                                         Rpc::kTranslate, transport);
}

}  // namespace trivium
