#ifndef TRIVIUM_SERVER_TRANSLATION_TRANSLATION_CHECKS_H_
#define TRIVIUM_SERVER_TRANSLATION_TRANSLATION_CHECKS_H_

#include <optional>
#include <string>
#include <string_view>

namespace trivium {

// What looks wrong with a translation, by its text and the source's alone.
// Each may be mistaken; how often, for people's translations between English
// and German, docs/text-to-text.md says. Time is linear in the texts.

// Words, or characters, come again and again (a run of up to 16, at least twice
// in a row and four times where it is one word), more than in the source.
bool RepeatsItself(std::string_view source, std::string_view translation);

// Half of its words, at least four of them, are in runs of three that the
// source has, too. Names, which begin with capitals, are not enough.
bool CopiesSource(std::string_view source, std::string_view translation);

// One has more than twice as many letters as the other and a few, where a
// character of Chinese, Japanese or Korean is three; or nothing is left of a
// source with letters or digits.
bool HasUnlikelyLength(std::string_view source, std::string_view translation);

// It has more of U+FFFD than the source.
bool HasReplacementCharacters(std::string_view source,
                              std::string_view translation);

// Tells texts in a language from those in others, by CLD2. Immutable and
// thread-safe.
class LanguageCheck {
 public:
  // BCP 47, or as "deu_Latn"; nothing where CLD2 does not know it.
  static std::optional<LanguageCheck> For(std::string_view language);

  // Whether most of a text is surely in another language, and not in one that
  // is hardly told from it (Danish and Norwegian). Never of a few words, or of
  // names alone, which begin with capitals.
  bool IsAnother(std::string_view text) const;

 private:
  explicit LanguageCheck(std::string language)
      : language_(std::move(language)) {}

  std::string language_;  // as Canonical() in the .cc writes it
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_TRANSLATION_CHECKS_H_
