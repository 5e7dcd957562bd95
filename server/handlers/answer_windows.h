#ifndef TRIVIUM_SERVER_HANDLERS_ANSWER_WINDOWS_H_
#define TRIVIUM_SERVER_HANDLERS_ANSWER_WINDOWS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/engine.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

struct AnswerOptions {
  uint32_t top = 1;
  uint32_t max_tokens = 15;  // of an answer
  bool no_answer = false;    // may be one
};

// Tokens [begin, end) of the context, or none.
struct FoundAnswer {
  int begin = 0;
  int end = 0;
  float score = 0;
  bool no_answer = false;
};

// A question and its context as a model of extractive question answering
// reads them: [CLS] question [SEP] context [SEP], or as its tokenizer joins
// pairs. A context that does not fit is cut into windows, of which each shares
// `overlap` tokens with the next.
struct AnswerWindows {
  struct Window {
    EncoderInput input;
    int offset = 0;  // of the context's first token in `input`
    int begin = 0;   // that token's place in the context
    int count = 0;   // tokens of the context
  };
  std::vector<Token> context;
  std::vector<Window> windows;

  // INVALID_ARGUMENT for a question or a context without tokens, and for a
  // question that leaves no room.
  static absl::StatusOr<AnswerWindows> Cut(const Tokenizer& tokenizer,
                                           std::string_view question,
                                           std::string_view context,
                                           int max_tokens, int overlap);

  // The best answers of all windows, best first. logits[window] is [tokens,
  // {start, end}]. As Transformers' pipeline scores them: probabilities are
  // over a window's context and its first token, which stands for no answer.
  std::vector<FoundAnswer> Find(const std::vector<std::vector<float>>& logits,
                                const AnswerOptions& options) const;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_ANSWER_WINDOWS_H_
