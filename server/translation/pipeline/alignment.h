#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_ALIGNMENT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_ALIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "server/batching/request.h"
#include "server/translation/markup.h"
#include "server/translation/pipeline/text_parts.h"
#include "server/translation/placeholders.h"

namespace trivium {

// Bytes of a hypothesis that stand for bytes of the source, in the order of the
// hypothesis.
using Alignment = std::vector<AlignedWords>;

// [tokens]: the bytes of a text that each token of the model's source stands
// for; empty for a token of no text. The model has read `span` of the text,
// with placeholders at `places`, behind `prefix_bytes` bytes of other text.
std::vector<TextSpan> PlaceTokens(std::span<const Token> tokens,
                                  size_t prefix_bytes, TextSpan span,
                                  std::span<const Restored::Place> places);

// Aligns by attention: a token of the hypothesis stands for the source's tokens
// that it attends to most. `map`: [1, 1, ids, source]; `source`: as PlaceTokens
// returns it.
Alignment AlignByAttention(const AttentionMap& map,
                           std::span<const TextSpan> source,
                           std::span<const int32_t> ids,
                           const Tokenizer& tokenizer);

// The alignment after placeholders were replaced: bytes behind them move, and
// each restored span stands for its span of the source. `spans`: of the source,
// indexed by Place::span.
Alignment WithRestored(Alignment alignment,
                       std::span<const Restored::Place> places,
                       std::span<const TextSpan> spans);

// [hypotheses] the alignments of a part that was translated in pieces. Between
// the pieces, the part's protected spans are as they were, and stand for
// `spans` of the source, [protected spans].
//   pieces:     the part's text and where the pieces are in it
//   of_pieces:  [pieces][hypotheses of the piece]
//   joined:     JoinParts of the pieces, with sentences
std::vector<Alignment> JoinAlignments(
    const TextParts::Part& part, std::span<const TextSpan> spans,
    const TextParts& pieces,
    const std::vector<std::vector<Alignment>>& of_pieces,
    const TranslatedText& joined);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_ALIGNMENT_H_
