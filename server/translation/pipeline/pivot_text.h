#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIVOT_TEXT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIVOT_TEXT_H_

#include <span>
#include <string_view>
#include <vector>

#include "server/translation/pipeline/alignment.h"
#include "server/translation/pipeline/text_parts.h"

namespace trivium {

// A text in the pivot language: the first model's translations of the parts of
// the call's text, which the second model reads. Knows which bytes of the
// call's text they stand for.
struct PivotText {
  // Has as many parts as the call's text, one directly after the other. Their
  // protected spans are those that came through the first translation.
  TextParts text;
  // [parts][protected spans of the part] their places in the call's text.
  std::vector<std::vector<TextSpan>> origins;
  // [parts] aligns bytes of a part, counted from its beginning, with bytes of
  // the call's text.
  std::vector<Alignment> alignments;

  // Appends the translation of the next part. Protected spans are those that
  // the alignment marks as whole.
  void Add(std::string_view translation, Alignment alignment);

  // Returns [spans] the bytes of the call's text that spans of part `part`
  // stand for; empty if unknown.
  std::vector<TextSpan> OriginsOf(size_t part,
                                  std::span<const TextSpan> spans) const;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIVOT_TEXT_H_
