#ifndef TRIVIUM_SERVER_CALLS_ANSWER_WINDOWS_H_
#define TRIVIUM_SERVER_CALLS_ANSWER_WINDOWS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/engine.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// A question and its context as a model of extractive question answering reads
// them: [CLS] question [SEP] context [SEP], or as its tokenizer joins pairs. A
// context that does not fit is cut into windows, each of which shares `overlap`
// tokens with the next.
struct AnswerWindows {
  struct Options {
    int max_tokens = 512;   // that the model reads: the size of a window
    int overlap = 128;      // tokens; half of a window's room at most
    int max_windows = 512;  // at least 1
    AliveCheck check_alive = {};
  };
  struct Window {
    EncoderInput input;
    int offset = 0;  // of the context's first token in `input`
    int begin = 0;   // that token's place in the context
    int count = 0;   // tokens of the context
  };
  std::vector<Token> context;
  std::vector<Window> windows;

  // INVALID_ARGUMENT if the question or the context has no tokens, the question
  // leaves no room for a context, or more than max_windows are needed.
  // Tokenizes no more than these windows could hold.
  static absl::StatusOr<AnswerWindows> Cut(const Tokenizer& tokenizer,
                                           std::string_view question,
                                           std::string_view context,
                                           const Options& options);
};

struct AnswerOptions {
  uint32_t top = 1;
  uint32_t max_tokens = 15;  // of an answer
  bool no_answer = false;    // "no answer" may be among the answers
};

// An answer: tokens [begin, end) of the context, or "no answer".
struct FoundAnswer {
  int begin = 0;
  int end = 0;
  float score = 0;
  bool no_answer = false;
};

// Finds the best answers in all windows of a context, in time proportional to
// their tokens x max_tokens and memory proportional to `top`. Scores are those
// of Transformers' pipeline: a probability is over the tokens of a window's
// context and its first token, which stands for "no answer".
class AnswerSearch {
 public:
  explicit AnswerSearch(const AnswerOptions& options) : options_(options) {}

  // Adds the next window. logits: [tokens, {start, end}].
  void Add(const AnswerWindows::Window& window, std::span<const float> logits);
  // Returns the `top` best, best first.
  std::vector<FoundAnswer> Finish();

 private:
  void Offer(const FoundAnswer& answer);

  const AnswerOptions options_;
  std::vector<FoundAnswer> best_;  // best first, each place once
  double no_answer_ = 1;           // the lowest score of it in any window
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ANSWER_WINDOWS_H_
