#ifndef TRIVIUM_SERVER_CALLS_CONVERT_TOKEN_SPANS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_TOKEN_SPANS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// A token of an input and what the model says of it.
struct ScoredToken {
  int index = 0;                 // in the input
  const Token* token = nullptr;  // null: it is of no text
  bool inside_word = false;      // goes on with the word of the one before
  std::vector<float> scores;     // [labels]
};

// Whether a token of `text` goes on with the word of the one before, as
// Transformers' pipelines tell it: by the length of its piece where the
// tokenizer marks pieces inside words, else by the spaces before it.
bool IsInsideWord(const Tokenizer& tokenizer, std::string_view text,
                  const Token& token);

// The labels of tokens as spans, as Transformers' token classification
// pipeline makes them. Tokens whose indices do not follow one another are
// never in one span.
std::vector<v1::TokenClassification::Span> MakeSpans(
    std::span<const ScoredToken> tokens, std::span<const std::string> labels,
    v1::Aggregation aggregation);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_TOKEN_SPANS_H_
