#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_WORD_ALIGNMENT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_WORD_ALIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "server/batching/request.h"
#include "server/translation/pipeline/translated_text.h"
#include "server/translation/sentences.h"

namespace trivium {

// The words of a source sentence, and of its translations: how sure the model
// was of each word, and which words of the source it attends to. Words are the
// runs of a text between white space.
class WordAlignment {
 public:
  // `tokens`: [source ids] of `source`; their offsets begin `prefix_bytes`
  // before it.
  WordAlignment(std::string_view source, std::span<const Token> tokens,
                size_t prefix_bytes);

  // As bytes of the source.
  const std::vector<TextSpan>& source_words() const { return words_; }

  // The words of a hypothesis's text. `map`: the mean of its cross-attention,
  // [1, 1, ids, tokens].
  std::vector<TargetWord> WordsOf(std::string_view text,
                                  const Hypothesis& hypothesis,
                                  const AttentionMap& map,
                                  const Tokenizer& tokenizer,
                                  std::span<const int32_t> stop_ids) const;

 private:
  std::vector<TextSpan> words_;
  std::vector<int> word_of_token_;  // -1: of none, as the end token
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_WORD_ALIGNMENT_H_
