#ifndef TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_LETTER_TOKENIZER_H_
#define TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_LETTER_TOKENIZER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "server/translation/pipeline/known_characters.h"
#include "tests/support/puppet_model.h"

namespace trivium {

// A tokenizer that knows ASCII and the letters "äöüß"; others become byte
// pieces. Its normalizer composes "u" and U+0308, splits "ﬁ", and makes "²" "2"
// and "™" "TM".
class LetterTokenizer : public PuppetTokenizer {
 public:
  absl::StatusOr<Encoding> Encode(std::string_view text,
                                  const EncodeOptions&) const override {
    ++asked;
    std::string normal(text);
    for (const auto& [from, to] :
         {std::pair{"u\u0308", "ü"}, std::pair{"ﬁ", "fi"}, std::pair{"²", "2"},
          std::pair{"™", "TM"}}) {
      for (size_t at = normal.find(from); at != normal.npos;
           at = normal.find(from)) {
        normal.replace(at, std::string_view(from).size(), to);
      }
    }
    Encoding encoding;
    for (size_t at = 0; at < normal.size();) {
      const CodePoint c = FirstCodePoint(std::string_view(normal).substr(at));
      const bool known =
          c.value < 0x80 || std::u32string_view(U"äöüß").find(c.value) !=
                                std::u32string_view::npos;
      if (known) {
        encoding.ids.push_back(static_cast<int32_t>(c.value));
      } else {
        encoding.ids.insert(encoding.ids.end(), c.size, kByte);
      }
      at += c.size;
    }
    return encoding;
  }
  std::string IdToPiece(int32_t id, TextSide) const override {
    if (id == kByte) return "<0xC5>";
    std::string piece;
    AppendUtf8(static_cast<char32_t>(id), &piece);
    return piece;
  }

  static constexpr int32_t kByte = 2;
  mutable int asked = 0;
};

inline std::vector<std::shared_ptr<const KnownCharacters>> KnownLetters() {
  static const LetterTokenizer* const tokenizer = new LetterTokenizer;
  return {std::make_shared<KnownCharacters>(*tokenizer)};
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSLATION_PIPELINE_LETTER_TOKENIZER_H_
