// Answer: finds the places in contexts that answer questions. A context that is
// too long for the model is read in overlapping windows.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "server/calls/answer_windows.h"
#include "server/calls/convert/convert.h"
#include "server/calls/handlers.h"
#include "server/calls/heads.h"
#include "server/calls/unary.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr uint32_t kMaxTopAnswers = 100;
constexpr uint32_t kDefaultAnswerTokens = 15;
// The search looks at every span of up to so many tokens in every window.
constexpr uint32_t kMaxAnswerTokens = 256;
constexpr uint32_t kDefaultOverlap = 128;

class AnswerCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    TRIVIUM_RETURN_IF_ERROR(
        CheckHead(call().model(), "Answer", {HeadKind::kAnswer}));
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so it cannot read texts");
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckRange("top", request_.has_top(), request_.top(), kMaxTopAnswers));
    TRIVIUM_RETURN_IF_ERROR(
        CheckRange("max_answer_tokens", request_.has_max_answer_tokens(),
                   request_.max_answer_tokens(), kMaxAnswerTokens));
    for (int i = 0; i < request_.inputs_size(); ++i) {
      const auto& input = request_.inputs(i);
      const size_t longest =
          std::max(input.question().size(), input.context().size());
      TRIVIUM_RETURN_IF_ERROR(CheckTextBytes(longest, InputField(i), limits));
    }
    return CheckInputCount(request_.inputs_size(), "inputs", limits);
  }

  int parts() const override { return request_.inputs_size(); }
  int64_t TextBytes(int part) const override {
    const auto& input = request_.inputs(part);
    return trivium::TextBytes(input.question()) +
           trivium::TextBytes(input.context());
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    const uint32_t overlap =
        request_.has_overlap() ? request_.overlap() : kDefaultOverlap;
    // Each input that is left needs at least one window.
    const int left = request_.inputs_size() - part - 1;
    const int max_windows = environment().limits.max_windows -
                            static_cast<int>(requests->size()) - left;
    if (max_windows < 1) {
      return InvalidField(
          InputField(part),
          fmt::format("has no window left: the inputs before it need {} of the "
                      "{} windows that a call may have; send fewer inputs or "
                      "shorter contexts",
                      requests->size(), environment().limits.max_windows));
    }
    absl::StatusOr<AnswerWindows> cut = AnswerWindows::Cut(
        *model().tokenizer(), request_.inputs(part).question(),
        request_.inputs(part).context(),
        {.max_tokens = model().info().max_source_tokens,
         .overlap = static_cast<int>(std::min<uint32_t>(overlap, 1 << 20)),
         .max_windows = max_windows,
         .check_alive = call().alive_check()});
    TRIVIUM_ASSIGN_OR_RETURN(AnswerWindows windows,
                             AboutText(std::move(cut), InputField(part)));
    for (AnswerWindows::Window& window : windows.windows) {
      Request& request = requests->emplace_back();
      request.source = std::move(window.input);
      if (model().info().type_vocabulary == 0) request.source.type_ids.clear();
      request.logits = true;
      window_of_request_.push_back(
          {part, static_cast<int>(request.source.ids.size()), window});
    }
    contexts_.push_back(std::move(windows.context));
    return absl::OkStatus();
  }

  static std::string InputField(int i) { return fmt::format("inputs[{}]", i); }
  std::string FieldOf(int request) const override {
    return InputField(window_of_request_[request].part);
  }

  absl::Status HandleResult(int request, RequestResult result) override {
    const Window& window = window_of_request_[request];
    if (request == 0 || window_of_request_[request - 1].part != window.part) {
      response_.add_results();
      search_.emplace(
          AnswerOptions{.top = request_.has_top() ? request_.top() : 1,
                        .max_tokens = request_.has_max_answer_tokens()
                                          ? request_.max_answer_tokens()
                                          : kDefaultAnswerTokens,
                        .no_answer = request_.no_answer()});
    }
    v1::Answers* out = response_.mutable_results(response_.results_size() - 1);
    out->set_window_count(out->window_count() + 1);
    out->set_token_count(out->token_count() +
                         static_cast<uint32_t>(window.tokens));
    search_->Add(window.place, result.logits);
    const bool last =
        static_cast<size_t>(request) + 1 == window_of_request_.size() ||
        window_of_request_[request + 1].part != window.part;
    return last ? AddAnswers(window.part, out) : absl::OkStatus();
  }

  absl::Status AddAnswers(int part, v1::Answers* out) {
    const std::string& context = request_.inputs(part).context();
    for (const FoundAnswer& found : search_->Finish()) {
      v1::Answers::Answer* answer = out->add_answers();
      answer->set_score(found.score);
      answer->set_no_answer(found.no_answer);
      if (found.no_answer) continue;
      const Token& first = contexts_[part][found.begin];
      const Token& last = contexts_[part][found.end - 1];
      answer->set_byte_begin(first.byte_begin);
      answer->set_byte_end(last.byte_end);
      answer->set_char_begin(first.char_begin);
      answer->set_char_end(last.char_end);
      // A token of spaces or of an unknown word may have any number of bytes.
      const int bytes = last.byte_end - first.byte_begin;
      response_bytes_ += bytes;
      TRIVIUM_RETURN_IF_ERROR(
          CheckResponseSize(response_bytes_, environment().limits));
      answer->set_text(context.substr(first.byte_begin, bytes));
    }
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    return WithTimings(&response_);
  }

  struct Window {
    int part;
    int tokens;                   // of its request, with the question
    AnswerWindows::Window place;  // without its input
  };

  v1::AnswerRequest request_;
  v1::AnswerResponse response_;
  std::vector<std::vector<Token>> contexts_;  // [inputs]
  std::vector<Window> window_of_request_;
  std::optional<AnswerSearch> search_;  // in the windows of the current input
  int64_t response_bytes_ = 0;          // of texts
};

}  // namespace

std::unique_ptr<Handler> NewAnswer(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<AnswerCall>(environment, std::move(context),
                                      Rpc::kAnswer, transport);
}

}  // namespace trivium
