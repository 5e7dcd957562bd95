// From the language between to the source by attention: with the first model's
// a(p, s), how surely a word p of its translation stands for a word s of the
// text, a token of the second model's source that overlaps words P stands for
// the s with the greatest a(p, s) of all p in P. What is kept stands for
// itself.
#include "server/calls/pivot_text.h"

#include <algorithm>
#include <utility>

namespace trivium {

void PivotText::Add(std::string_view translation, Alignment alignment) {
  const size_t begin = text.text.size();
  text.split = true;
  text.text += translation;
  TextParts::Part& added =
      text.parts.emplace_back(TextParts::Part{{begin, text.text.size()}});
  std::vector<TextSpan>& origins = kept.emplace_back();
  // Ascending, as the alignment is.
  for (const AlignedWords& words : alignment) {
    if (!words.whole) continue;
    added.kept.push_back(
        {begin + words.target.begin, begin + words.target.end});
    origins.push_back(words.source);
  }
  alignments.push_back(std::move(alignment));
}

std::vector<TextSpan> PivotText::InText(size_t part,
                                        std::span<const TextSpan> spans) const {
  const size_t begin = text.parts[part].span.begin;
  std::vector<TextSpan> out;
  for (const TextSpan& span : spans) {
    TextSpan& origin = out.emplace_back();
    float surest = 0;
    for (const AlignedWords& words : alignments[part]) {
      const bool overlaps = begin + words.target.begin < span.end &&
                            span.begin < begin + words.target.end;
      if (overlaps && words.weight > surest) {
        surest = words.weight;
        origin = words.source;
      }
    }
  }
  return out;
}

void PivotText::PlaceUnkept(size_t part, v1::TranslateResult* result) const {
  const std::vector<TextSpan>& spans = text.parts[part].kept;
  for (v1::UnkeptSpan& unkept : *result->mutable_unkept()) {
    const auto is_it = [&unkept](TextSpan span) {
      return span.begin == unkept.source().byte_begin();
    };
    const auto found = std::find_if(spans.begin(), spans.end(), is_it);
    const TextSpan origin = kept[part][found - spans.begin()];
    unkept.mutable_source()->set_byte_begin(
        static_cast<uint32_t>(origin.begin));
    unkept.mutable_source()->set_byte_end(static_cast<uint32_t>(origin.end));
  }
}

}  // namespace trivium
