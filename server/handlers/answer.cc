// Answer: the places in contexts that answer questions. A context that is too
// long is read in windows that overlap.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "server/handlers/answer_windows.h"
#include "server/handlers/handlers.h"
#include "server/handlers/head_call.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

constexpr uint32_t kMaxTop = 100;
constexpr uint32_t kDefaultAnswerTokens = 15;
constexpr uint32_t kDefaultOverlap = 128;

class AnswerCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(OpenHead(&request_, "Answer", {HeadKind::kAnswer}));
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so it cannot read texts");
    }
    if (request_.has_top() &&
        (request_.top() == 0 || request_.top() > kMaxTop)) {
      return InvalidField(
          "top", fmt::format("is {}; give 1 .. {}", request_.top(), kMaxTop));
    }
    if (request_.has_max_answer_tokens() && request_.max_answer_tokens() == 0) {
      return InvalidField("max_answer_tokens", "is 0; give at least 1");
    }
    for (int i = 0; i < request_.inputs_size(); ++i) {
      const auto& input = request_.inputs(i);
      const size_t longest =
          std::max(input.question().size(), input.context().size());
      TRIVIUM_RETURN_IF_ERROR(CheckTextBytes(longest, InputField(i), limits));
    }
    return CheckInputCount(request_.inputs_size(), "inputs", limits);
  }

  int64_t TextBytes() const override {
    int64_t bytes = 0;
    for (const auto& input : request_.inputs()) {
      bytes += static_cast<int64_t>(input.question().size() +
                                    input.context().size());
    }
    return bytes;
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    const uint32_t overlap =
        request_.has_overlap() ? request_.overlap() : kDefaultOverlap;
    std::vector<Request> requests;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      absl::StatusOr<AnswerWindows> windows = AnswerWindows::Cut(
          *model().tokenizer(), request_.inputs(i).question(),
          request_.inputs(i).context(), model().info().max_source_tokens,
          static_cast<int>(std::min<uint32_t>(overlap, 1 << 20)));
      if (absl::IsInvalidArgument(windows.status())) {
        return InvalidField(InputField(i),
                            std::string(windows.status().message()));
      }
      TRIVIUM_RETURN_IF_ERROR(windows.status());
      for (const AnswerWindows::Window& window : windows->windows) {
        Request& request = requests.emplace_back();
        request.source = window.input;
        if (model().info().type_vocabulary == 0) {
          request.source.type_ids.clear();
        }
        request.logits = true;
        input_of_request_.push_back(i);
      }
      windows_.push_back(*std::move(windows));
    }
    return requests;
  }

  static std::string InputField(int i) { return fmt::format("inputs[{}]", i); }
  std::string FieldOf(int request) const override {
    return InputField(input_of_request_[request]);
  }

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    const AnswerOptions options = {
        .top = request_.has_top() ? request_.top() : 1,
        .max_tokens = request_.has_max_answer_tokens()
                          ? request_.max_answer_tokens()
                          : kDefaultAnswerTokens,
        .no_answer = request_.no_answer()};
    size_t next = 0;
    for (size_t i = 0; i < windows_.size(); ++i) {
      const AnswerWindows& windows = windows_[i];
      v1::Answers* out = response_.add_results();
      std::vector<std::vector<float>> logits;
      for (size_t w = 0; w < windows.windows.size(); ++w, ++next) {
        logits.push_back(std::move(results[next].logits));
        out->set_token_count(
            out->token_count() +
            static_cast<uint32_t>(windows.windows[w].input.ids.size()));
      }
      out->set_windows(static_cast<uint32_t>(windows.windows.size()));
      const std::string& context =
          request_.inputs(static_cast<int>(i)).context();
      for (const FoundAnswer& found : windows.Find(logits, options)) {
        v1::Answers::Answer* answer = out->add_answers();
        answer->set_score(found.score);
        answer->set_no_answer(found.no_answer);
        if (found.no_answer) continue;
        const Token& first = windows.context[found.begin];
        const Token& last = windows.context[found.end - 1];
        answer->set_byte_begin(first.byte_begin);
        answer->set_byte_end(last.byte_end);
        answer->set_char_begin(first.char_begin);
        answer->set_char_end(last.char_end);
        answer->set_text(
            context.substr(first.byte_begin, last.byte_end - first.byte_begin));
      }
    }
    return WithTimings(&response_);
  }

  v1::AnswerRequest request_;
  v1::AnswerResponse response_;
  std::vector<AnswerWindows> windows_;  // [inputs]
  std::vector<int> input_of_request_;
};

}  // namespace

std::unique_ptr<Handler> NewAnswer(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<AnswerCall>(environment, std::move(context),
                                      Rpc::kAnswer, transport);
}

}  // namespace trivium
