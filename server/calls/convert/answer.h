#ifndef TRIVIUM_SERVER_CALLS_CONVERT_ANSWER_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_ANSWER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// An AnswerRequest, ready to use. The request outlives this.
struct AnswerJob {
  struct Input {
    std::string_view question, context;
  };
  std::vector<Input> inputs;
  uint32_t top = 1;
  uint32_t max_answer_tokens = 15;
  int overlap = 128;  // tokens
  bool no_answer = false;
};

absl::StatusOr<AnswerJob> ReadAnswer(const v1::AnswerRequest& in,
                                     const RequestLimits& limits);

// Returns the answers to the next input, still empty.
v1::Answers* AddAnswers(v1::AnswerResponse* out);
// Counts a window that has so many tokens.
void CountWindow(int tokens, v1::Answers* out);
// Adds an answer from token `first` to token `last`, whose text is `text`.
void AddAnswer(float score, const Token& first, const Token& last,
               std::string_view text, v1::Answers* out);
// Adds the answer that the context has none.
void AddNoAnswer(float score, v1::Answers* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_ANSWER_H_
