#ifndef TRIVIUM_MODEL_TOKENIZER_NORMALIZED_TEXT_H_
#define TRIVIUM_MODEL_TOKENIZER_NORMALIZED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/unicode.h"

namespace trivium {

// Bytes [begin, end) of a text.
struct ByteSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// A text under normalization that knows, for each of its bytes, which bytes of
// the original it came from. It follows the rules of Hugging Face's tokenizers,
// so that offsets are equal.
//
// A step that cannot do its work fails the text. The text then becomes empty,
// so that later steps finish quickly, and status() keeps the first failure. An
// interrupted step leaves the text as it is.
class NormalizedText {
 public:
  // A character of a transformed text. `change` 0: it replaces the next
  // character of the current text. 1: it is new, and comes from where the
  // character before it comes from. -n: it replaces the next character, and n
  // more are removed.
  struct Change {
    char32_t character;
    int change;
  };

  // `original` begins at byte `offset` of the whole text.
  NormalizedText(std::string_view original, size_t offset);

  const std::string& text() const { return text_; }
  const std::vector<ByteSpan>& spans() const { return spans_; }  // [text bytes]

  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status);
  // Fails the text and returns false if `size` bytes (or characters) are more
  // than normalizers may make of this text. No published normalizer makes a
  // tenth of the limit, but a few replacements in a row could make any number.
  bool MayGrowTo(size_t size);

  // Replaces the text; `removed` characters at its beginning are dropped first.
  void Transform(std::span<const Change> changes, size_t removed);

  // Replaces each character by one other, which comes from the same place.
  template <typename Function>
  void Map(Function function);
  // Keeps the characters for which `keep` is true.
  template <typename Predicate>
  void Filter(Predicate keep);

  void Prepend(std::string_view text);
  // Replaces the matches (ascending, disjoint) by `content`, which comes from
  // where the last byte of the match comes from.
  void Replace(std::span<const ByteSpan> matches, std::string_view content);
  // Keeps the bytes [begin, end).
  void Cut(size_t begin, size_t end);

  // Decomposes to NFD or NFKD; with `compose`, composes to NFC or NFKC.
  void Normalize(DecompositionKind kind, bool compose);
  void LowerCase();

 private:
  std::string text_;
  std::vector<ByteSpan> spans_;
  size_t most_bytes_;
  absl::Status status_;
};

template <typename Function>
void NormalizedText::Map(Function function) {
  if (Interrupted(text_.size())) return;
  std::string text;
  std::vector<ByteSpan> spans;
  text.reserve(text_.size());
  spans.reserve(text_.size());
  for (size_t at = 0; at < text_.size();) {
    const ByteSpan span = spans_[at];
    AppendUtf8(function(NextCharacter(text_, &at)), &text);
    spans.resize(text.size(), span);
  }
  text_ = std::move(text);
  spans_ = std::move(spans);
}

template <typename Predicate>
void NormalizedText::Filter(Predicate keep) {
  if (Interrupted(text_.size())) return;
  size_t kept = 0;
  for (size_t at = 0; at < text_.size();) {
    const size_t begin = at;
    if (!keep(NextCharacter(text_, &at))) continue;
    for (size_t i = begin; i < at; ++i, ++kept) {
      text_[kept] = text_[i];
      spans_[kept] = spans_[i];
    }
  }
  text_.resize(kept);
  spans_.resize(kept);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_NORMALIZED_TEXT_H_
