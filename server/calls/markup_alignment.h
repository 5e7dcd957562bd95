#ifndef TRIVIUM_SERVER_CALLS_MARKUP_ALIGNMENT_H_
#define TRIVIUM_SERVER_CALLS_MARKUP_ALIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "server/batching/request.h"
#include "server/calls/text_parts.h"
#include "server/translation/markup.h"
#include "server/translation/placeholders.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Which words of the source a hypothesis's words stand for, in the order of its
// text.
using Alignment = std::vector<AlignedWords>;

// Where each of a source's tokens is in plain text, of which the model read
// `span`, in which are `places` of placeholders, behind `prefix_bytes` of other
// text. Empty spans: those that are of no text.
std::vector<TextSpan> PlaceTokens(std::span<const Token> tokens,
                                  size_t prefix_bytes, TextSpan span,
                                  std::span<const Restored::Place> places);

// By the attention of a hypothesis's tokens, `map`: [1, 1, ids, source]; a
// token stands for the tokens of the source that it looks at the most.
Alignment AlignByAttention(const AttentionMap& map,
                           std::span<const TextSpan> source,
                           std::span<const int32_t> ids,
                           const Tokenizer& tokenizer);

// Of a text whose placeholders were replaced: what is behind them moves, and
// each of what replaced them stands for its span of the source.
Alignment WithRestored(Alignment alignment,
                       std::span<const Restored::Place> places,
                       std::span<const TextSpan> spans);

// Each restored text stands for its span of the source, for certain.
void AddRestored(std::span<const Restored::Place> places,
                 std::span<const TextSpan> spans, Alignment* alignment);

// [hypotheses] of a part whose pieces were joined, which tells where they are;
// what is between them, the part's `kept`, is as it was, and stands for `spans`
// of the source, [kept]. `of_pieces`: [pieces][hypotheses].
std::vector<Alignment> JoinAlignments(
    const TextParts::Part& part, std::span<const TextSpan> spans,
    const TextParts& pieces,
    const std::vector<std::vector<Alignment>>& of_pieces,
    const v1::TranslateResult& joined);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_MARKUP_ALIGNMENT_H_
