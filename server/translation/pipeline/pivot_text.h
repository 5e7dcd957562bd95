#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIVOT_TEXT_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIVOT_TEXT_H_

#include <span>
#include <string_view>
#include <vector>

#include "server/translation/pipeline/alignment.h"
#include "server/translation/pipeline/text_parts.h"

namespace trivium {

// A text in the pivot language: the first model has translated the parts of the
// call's text, the second model reads these translations. Knows which bytes of
// the call's text they stand for.
struct PivotText {
  // As many parts as the call's text has, one after the other; protected spans
  // are those that the first model's translation has.
  TextParts text;
  // [parts][protected spans of the part], in the call's text.
  std::vector<std::vector<TextSpan>> origins;
  // [parts]: bytes of a part, counted from its begin, to bytes of the call's
  // text.
  std::vector<Alignment> alignments;

  // Appends the translation of the next part. Its protected spans are those
  // that the alignment calls whole.
  void Add(std::string_view translation, Alignment alignment);

  // [spans]: the bytes of the call's text that spans of part `part` stand for;
  // empty if not known.
  std::vector<TextSpan> OriginsOf(size_t part,
                                  std::span<const TextSpan> spans) const;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIVOT_TEXT_H_
