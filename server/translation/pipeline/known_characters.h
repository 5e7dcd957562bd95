#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_KNOWN_CHARACTERS_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_KNOWN_CHARACTERS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "server/batching/served_model.h"

namespace trivium {

// True for characters that stand above or below the line, in a fraction, a
// circle or a square, such as "²", "₁", "½", "①", "㎡" and "™", and for "№":
// Unicode's compatibility forms (UAX 44, Decomposition_Type) whose plain form
// means something else.
bool IsRaised(char32_t c);

// Tells which characters a model's vocabulary has. A character is unknown if
// the tokenizer turns it into the unknown token or into byte pieces, "<0xC5>".
// One that the tokenizer's normalizer replaces by known ones is known, but for
// a raised character (IsRaised), of which the model would read something else:
// "10⁻³" is not "10-3".
// Byte-level vocabularies, which have bytes instead of characters, know all.
//
// The first question about a character tokenizes it; the answer is cached for
// all calls. Thread-safe.
class KnownCharacters {
 public:
  // The vocabulary of a model, which all calls share. The model must have a
  // tokenizer.
  static std::shared_ptr<const KnownCharacters> Of(const ModelHandle& model);

  // `tokenizer` must outlive it.
  explicit KnownCharacters(const Tokenizer& tokenizer);

  bool Knows(char32_t c) const {
    if (c < 0x80) return true;
    return c < kCached ? KnowsCached(c) : AskTokenizer(c);
  }
  // True if the vocabulary has all characters of a word. Unlike Knows of each,
  // it sees letters that the normalizer composes: "c" and U+030C.
  bool KnowsWord(std::string_view word) const;
  // True if the vocabulary has the word as one piece.
  bool IsPiece(std::string_view word) const;

 private:
  // Answers for code points below this are cached: all but rare ideographs,
  // tags and private ones.
  static constexpr char32_t kCached = 0x30000;
  static constexpr int kAnswers = 32;  // in a word of cached_

  bool KnowsCached(char32_t c) const;
  bool AskTokenizer(char32_t c) const;
  // The ids of a text, or nullopt if the tokenizer refuses it.
  std::optional<std::vector<int32_t>> Ids(std::string_view text) const;
  bool KnowsIds(const std::vector<int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  std::vector<int32_t> unknown_ids_;
  // Two bits for each code point: asked, and known.
  mutable std::array<std::atomic<uint64_t>, kCached / kAnswers> cached_ = {};
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_KNOWN_CHARACTERS_H_
