#ifndef TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZED_TEXT_H_
#define TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZED_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "model/tokenizer/normalized_text.h"

namespace trivium {

// Treatment of the matches of a split's pattern. "the-final" at "-" becomes
enum class SplitBehavior {
  kRemoved,             // the|final
  kIsolated,            // the|-|final
  kMergedWithPrevious,  // the-|final
  kMergedWithNext,      // the|-final
  kContiguous,          // as kIsolated, but neighbouring matches stay together
};

// A normalized text on its way through the pre-tokenizers, cut into pre-tokens.
// Each pre-token is an added token or will be an input of the model.
struct PreTokenizedText {
  struct PreToken {
    uint32_t begin;  // bytes of `text`
    uint32_t end;
    int32_t token;  // the added token; -1: none
    std::string_view view(const std::string& text) const {
      return std::string_view(text).substr(begin, end - begin);
    }
  };

  std::string text;
  std::vector<ByteSpan> spans;  // [text bytes] their origins
  std::vector<PreToken> pre_tokens;
  // The first failure of a step; the other members mean nothing then.
  absl::Status status;

  // Appends a text as one pre-token.
  void Append(const NormalizedText& normalized, int32_t token);
};

// True if [begin, end) shares a byte with one of `spans` (ascending, disjoint).
bool Overlaps(std::span<const ByteSpan> spans, uint32_t begin, uint32_t end);

// Splits text[begin, end) at `matches` (ascending, disjoint, in the same bytes
// as `begin`) and appends the remaining parts to `out` as pre-tokens without
// token. `invert`: the text between the matches counts as matches, each match
// as a part.
void AppendSplit(size_t begin, size_t end, std::span<const ByteSpan> matches,
                 SplitBehavior behavior, bool invert,
                 std::vector<PreTokenizedText::PreToken>* out);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PRE_TOKENIZED_TEXT_H_
