#ifndef TRIVIUM_SERVER_CALLS_CONVERT_TOKEN_SPANS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_TOKEN_SPANS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// A token of an input and its scores.
struct LabeledToken {
  int index = 0;                 // in the input
  const Token* token = nullptr;  // null: the input is ids, not a text
  bool inside_word = false;      // continues the previous token's word
  std::vector<float> scores;     // [labels]
};

// True if a token of `text` continues the word of the token before it. Decides
// as Transformers' pipelines do: by the length of the token's piece if the
// tokenizer marks pieces inside words, else by the spaces before it.
bool IsInsideWord(const Tokenizer& tokenizer, std::string_view text,
                  const Token& token);

// Makes spans of the labels of tokens, as Transformers' token classification
// pipeline does. Tokens whose indices are not consecutive are never in one
// span.
std::vector<v1::TokenClassification::Span> MakeSpans(
    std::span<const LabeledToken> tokens, std::span<const std::string> labels,
    v1::Aggregation aggregation);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_TOKEN_SPANS_H_
