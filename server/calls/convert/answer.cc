#include "server/calls/convert/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"

namespace trivium {
namespace {

constexpr uint32_t kMaxTopAnswers = 100;
// The search looks at every span of up to so many tokens in every window.
constexpr uint32_t kMaxAnswerTokens = 256;

}  // namespace

absl::StatusOr<AnswerJob> ReadAnswer(const v1::AnswerRequest& in,
                                     const RequestLimits& limits) {
  AnswerJob job;
  TRIVIUM_RETURN_IF_ERROR(CheckRange("top", TopOf(in), kMaxTopAnswers));
  job.top = TopOf(in).value_or(job.top);
  if (in.has_max_answer_tokens())
    job.max_answer_tokens = in.max_answer_tokens();
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("max_answer_tokens", job.max_answer_tokens, kMaxAnswerTokens));
  if (in.has_overlap()) {
    job.overlap = static_cast<int>(std::min<uint32_t>(in.overlap(), 1 << 20));
  }
  job.no_answer = in.no_answer();
  for (int i = 0; i < in.inputs_size(); ++i) {
    const auto& input = in.inputs(i);
    const size_t longest =
        std::max(input.question().size(), input.context().size());
    TRIVIUM_RETURN_IF_ERROR(
        CheckTextBytes(longest, fmt::format("inputs[{}]", i), limits));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckInputCount(in.inputs_size(), "inputs", limits));
  for (const auto& input : in.inputs()) {
    job.inputs.push_back(
        {.question = input.question(), .context = input.context()});
  }
  return job;
}

v1::Answers* AddAnswers(v1::AnswerResponse* out) { return out->add_results(); }

void CountWindow(int tokens, v1::Answers* out) {
  out->set_window_count(out->window_count() + 1);
  out->set_token_count(out->token_count() + static_cast<uint32_t>(tokens));
}

void AddAnswer(float score, const Token& first, const Token& last,
               std::string_view text, v1::Answers* out) {
  v1::Answers::Answer* answer = out->add_answers();
  answer->set_score(score);
  answer->set_byte_begin(first.byte_begin);
  answer->set_byte_end(last.byte_end);
  answer->set_char_begin(first.char_begin);
  answer->set_char_end(last.char_end);
  answer->set_text(std::string(text));
}

void AddNoAnswer(float score, v1::Answers* out) {
  v1::Answers::Answer* answer = out->add_answers();
  answer->set_score(score);
  answer->set_no_answer(true);
}

}  // namespace trivium
