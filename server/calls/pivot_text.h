#ifndef TRIVIUM_SERVER_CALLS_PIVOT_TEXT_H_
#define TRIVIUM_SERVER_CALLS_PIVOT_TEXT_H_

#include <span>
#include <string_view>
#include <vector>

#include "server/calls/markup_alignment.h"
#include "server/calls/text_parts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What a model has made of a text's parts for a second one to read, and what of
// the text it stands for.
struct PivotText {
  // As many parts as the text has, one after the other; of each what is kept
  // in it.
  TextParts text;
  // [parts][kept of the part], in the text.
  std::vector<std::vector<TextSpan>> kept;
  // [parts]: what a part's words, from its begin on, stand for in the text.
  std::vector<Alignment> alignments;

  // Appends what became of the next part; `alignment` of its words, of which
  // those that are whole are kept.
  void Add(std::string_view translation, Alignment alignment);

  // What spans of part `part` stand for in the text; empty: nothing is known.
  std::vector<TextSpan> InText(size_t part,
                               std::span<const TextSpan> spans) const;
  // The same of what is told of a part's spans that were not kept.
  void PlaceUnkept(size_t part, v1::TranslateResult* result) const;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_PIVOT_TEXT_H_
