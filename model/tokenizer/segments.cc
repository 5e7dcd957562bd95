#include "model/tokenizer/segments.h"

namespace trivium {

void Segments::Append(const NormalizedText& normalized, int32_t token) {
  if (normalized.text().empty()) return;
  const uint32_t begin = static_cast<uint32_t>(text.size());
  text += normalized.text();
  spans.insert(spans.end(), normalized.spans().begin(),
               normalized.spans().end());
  segments.push_back({begin, static_cast<uint32_t>(text.size()), token});
}

void AppendSplit(size_t begin, size_t end, std::span<const ByteSpan> matches,
                 SplitBehavior behavior, std::vector<Segments::Segment>* out) {
  const size_t first = out->size();
  uint32_t done = static_cast<uint32_t>(begin);
  bool previous_match = false;  // the last part is a match
  bool held = false;            // it waits for what follows it
  const auto push = [&](uint32_t from, uint32_t to) {
    if (to > from) out->push_back({from, to, -1});
  };
  const auto text = [&](uint32_t to) {
    if (to <= done) return;
    if (held) {
      out->back().end = to;
      held = false;
    } else {
      push(done, to);
    }
    done = to;
    previous_match = false;
  };
  for (const ByteSpan& match : matches) {
    text(match.begin);
    const bool joins = out->size() > first;
    switch (behavior) {
      case SplitBehavior::kRemoved:
        break;
      case SplitBehavior::kIsolated:
        push(match.begin, match.end);
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (joins && !previous_match) {
          out->back().end = match.end;
        } else {
          push(match.begin, match.end);
        }
        break;
      case SplitBehavior::kMergedWithNext:
        push(match.begin, match.end);
        held = true;
        break;
      case SplitBehavior::kContiguous:
        if (joins && previous_match) {
          out->back().end = match.end;
        } else {
          push(match.begin, match.end);
        }
        break;
    }
    done = match.end;
    previous_match = true;
  }
  text(static_cast<uint32_t>(end));
}

}  // namespace trivium
