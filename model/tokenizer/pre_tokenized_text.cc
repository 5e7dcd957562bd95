#include "model/tokenizer/pre_tokenized_text.h"

#include <algorithm>

namespace trivium {

void PreTokenizedText::Append(const NormalizedText& normalized, int32_t token) {
  status.Update(normalized.status());
  if (normalized.text().empty()) return;
  const uint32_t begin = static_cast<uint32_t>(text.size());
  text += normalized.text();
  spans.insert(spans.end(), normalized.spans().begin(),
               normalized.spans().end());
  pre_tokens.push_back({begin, static_cast<uint32_t>(text.size()), token});
}

bool Overlaps(std::span<const ByteSpan> spans, uint32_t begin, uint32_t end) {
  const auto next = std::upper_bound(
      spans.begin(), spans.end(), begin,
      [](uint32_t at, const ByteSpan& s) { return at < s.end; });
  return next != spans.end() && next->begin < end;
}

void AppendSplit(size_t begin, size_t end, std::span<const ByteSpan> matches,
                 SplitBehavior behavior, bool invert,
                 std::vector<PreTokenizedText::PreToken>* out) {
  const size_t first = out->size();
  bool previous_match = false;
  const auto part = [&](uint32_t from, uint32_t to, bool is_match) {
    if (from == to) return;
    bool joins = false;
    switch (behavior) {
      case SplitBehavior::kRemoved:
        if (is_match) return;
        break;
      case SplitBehavior::kIsolated:
        break;
      case SplitBehavior::kMergedWithPrevious:
        joins = is_match && !previous_match;
        break;
      case SplitBehavior::kMergedWithNext:
        joins = !is_match && previous_match;
        break;
      case SplitBehavior::kContiguous:
        joins = is_match == previous_match;
        break;
    }
    previous_match = is_match;
    if (joins && out->size() > first) {
      out->back().end = to;
    } else {
      out->push_back({from, to, -1});
    }
  };
  uint32_t done = static_cast<uint32_t>(begin);
  for (const ByteSpan& match : matches) {
    part(done, match.begin, invert);
    part(match.begin, match.end, !invert);
    done = match.end;
  }
  part(done, static_cast<uint32_t>(end), invert);
}

}  // namespace trivium
