// From the pivot language to the source by attention. The first model's
// alignment gives a(p, s), how surely a word p of its translation stands for a
// word s of the call's text. A token of the second model's source that overlaps
// the words P stands for the s with the greatest a(p, s) of all p in P. A
// protected span stands for itself.
#include "server/translation/pipeline/pivot_text.h"

#include <algorithm>
#include <utility>

namespace trivium {

void PivotText::Add(std::string_view translation, Alignment alignment) {
  const size_t begin = text.text.size();
  text.split = true;
  text.text += translation;
  TextParts::Part& added =
      text.parts.emplace_back(TextParts::Part{{begin, text.text.size()}});
  std::vector<TextSpan>& origins_of_part = origins.emplace_back();
  // The alignment ascends, so these do, too.
  for (const AlignedWords& words : alignment) {
    if (!words.whole) continue;
    added.protected_spans.push_back(
        {begin + words.target.begin, begin + words.target.end});
    origins_of_part.push_back(words.source);
  }
  alignments.push_back(std::move(alignment));
}

std::vector<TextSpan> PivotText::OriginsOf(
    size_t part, std::span<const TextSpan> spans) const {
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

}  // namespace trivium
