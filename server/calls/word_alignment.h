#ifndef TRIVIUM_SERVER_CALLS_WORD_ALIGNMENT_H_
#define TRIVIUM_SERVER_CALLS_WORD_ALIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "server/batching/request.h"
#include "server/translation/sentences.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Words are the runs of a text between white space. This tells them of a
// translation: how sure the model was of each, and of which words of the source
// it is the translation, by cross-attention.
//
//   WordAlignment words(sentence, tokens, prefix_bytes);
//   words.AddSource(sentence_begin, &result);
//   words.AddTarget(hypothesis, map, tokenizer, stop_ids, &result_hypothesis);
//   ... results of sentences are joined: ShiftWords of each
//   PlaceWords(text, &joined);
class WordAlignment {
 public:
  // `tokens`: what the model read of `source`, [source ids], whose offsets
  // begin `prefix_bytes` before it.
  WordAlignment(std::string_view source, std::span<const Token> tokens,
                size_t prefix_bytes);

  // Their bytes, with the source at `begin` of the input's text.
  void AddSource(size_t begin, v1::TranslateResult* result) const;
  // Of out's text. `map` is the mean of the hypothesis's cross-attention: [1,
  // 1, ids, tokens].
  void AddTarget(const Hypothesis& hypothesis, const AttentionMap& map,
                 const Tokenizer& tokenizer, std::span<const int32_t> stop_ids,
                 v1::Hypothesis* out) const;

 private:
  std::vector<TextSpan> words_;
  std::vector<int> word_of_token_;  // -1: of none, as the end token
};

// Moves a hypothesis's words behind so many bytes of text, and what they say of
// the source behind so many words.
void ShiftWords(size_t bytes, int source_words, v1::Hypothesis* hypothesis);

// Fills in the places in characters; `source`: the input's text.
void PlaceWords(std::string_view source, v1::TranslateResult* result);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_WORD_ALIGNMENT_H_
