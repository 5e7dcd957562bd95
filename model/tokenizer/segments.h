#ifndef TRIVIUM_MODEL_TOKENIZER_SEGMENTS_H_
#define TRIVIUM_MODEL_TOKENIZER_SEGMENTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "model/tokenizer/normalized_text.h"

namespace trivium {

// What a split does with the matches of its pattern: "the-final" at "-" is
enum class SplitBehavior {
  kRemoved,             // the|final
  kIsolated,            // the|-|final
  kMergedWithPrevious,  // the-|final
  kMergedWithNext,      // the|-final
  kContiguous,          // as isolated, but neighbouring matches stay together
};

// A normalized text on its way through the pre-tokenizers: cut to segments,
// each of which is an added token already or will be a model's input.
struct Segments {
  struct Segment {
    uint32_t begin;  // in text
    uint32_t end;
    int32_t token;  // the added token that it is; -1: none
    std::string_view view(const std::string& text) const {
      return std::string_view(text).substr(begin, end - begin);
    }
  };

  std::string text;
  std::vector<ByteSpan> spans;  // [text bytes] in the original
  std::vector<Segment> segments;
  // The first failure of a step; the rest means nothing then.
  absl::Status status;

  // Appends a text as one segment.
  void Append(const NormalizedText& normalized, int32_t token);
};

// Whether [begin, end) shares a byte with one of `spans` (ascending, apart).
bool Overlaps(std::span<const ByteSpan> spans, uint32_t begin, uint32_t end);

// The parts of text[begin, end) that a split at `matches` (ascending, apart,
// in the same bytes as `begin`) leaves, appended to `out` as no tokens.
// `invert`: matches are what is between them, and they are each a part.
void AppendSplit(size_t begin, size_t end, std::span<const ByteSpan> matches,
                 SplitBehavior behavior, bool invert,
                 std::vector<Segments::Segment>* out);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SEGMENTS_H_
