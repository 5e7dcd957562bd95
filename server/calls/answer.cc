// Answer: finds the places in contexts that answer questions. A context that is
// too long for the model is read in overlapping windows.
#include "server/calls/convert/answer.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "server/calls/answer_windows.h"
#include "server/calls/handlers.h"
#include "server/calls/heads.h"
#include "server/calls/unary.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

class AnswerCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    TRIVIUM_RETURN_IF_ERROR(
        CheckHead(call().model(), "Answer", {HeadKind::kAnswer}));
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so it cannot read texts");
    }
    TRIVIUM_ASSIGN_OR_RETURN(job_, ReadAnswer(request_, environment().limits));
    return absl::OkStatus();
  }

  int parts() const override { return static_cast<int>(job_.inputs.size()); }
  int64_t TextBytes(int part) const override {
    const AnswerJob::Input& input = job_.inputs[part];
    return trivium::TextBytes(input.question) +
           trivium::TextBytes(input.context);
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    // Each input that is left needs at least one window.
    const int left = parts() - part - 1;
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
    absl::StatusOr<AnswerWindows> cut =
        AnswerWindows::Cut(*model().tokenizer(), job_.inputs[part].question,
                           job_.inputs[part].context,
                           {.max_tokens = model().info().max_source_tokens,
                            .overlap = job_.overlap,
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
      answers_ = AddAnswers(&response_);
      search_.emplace(AnswerOptions{.top = job_.top,
                                    .max_tokens = job_.max_answer_tokens,
                                    .no_answer = job_.no_answer});
    }
    CountWindow(window.tokens, answers_);
    search_->Add(window.place, result.logits);
    const bool last =
        static_cast<size_t>(request) + 1 == window_of_request_.size() ||
        window_of_request_[request + 1].part != window.part;
    return last ? AddFound(window.part) : absl::OkStatus();
  }

  // Adds what the search has found in all windows of an input.
  absl::Status AddFound(int part) {
    const std::string_view context = job_.inputs[part].context;
    for (const FoundAnswer& found : search_->Finish()) {
      if (found.no_answer) {
        AddNoAnswer(found.score, answers_);
        continue;
      }
      const Token& first = contexts_[part][found.begin];
      const Token& last = contexts_[part][found.end - 1];
      // A token of spaces or of an unknown word may have any number of bytes.
      const int bytes = last.byte_end - first.byte_begin;
      response_bytes_ += bytes;
      TRIVIUM_RETURN_IF_ERROR(
          CheckResponseSize(response_bytes_, environment().limits));
      AddAnswer(found.score, first, last,
                context.substr(first.byte_begin, bytes), answers_);
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
  AnswerJob job_;
  std::vector<std::vector<Token>> contexts_;  // [inputs]
  std::vector<Window> window_of_request_;
  // The search in the windows of the current input, and the input's answers.
  std::optional<AnswerSearch> search_;
  v1::Answers* answers_ = nullptr;
  int64_t response_bytes_ = 0;  // of texts
};

}  // namespace

std::unique_ptr<Handler> NewAnswer(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<AnswerCall>(environment, std::move(context),
                                      Rpc::kAnswer, transport);
}

}  // namespace trivium
