#ifndef TRIVIUM_SERVER_TRANSLATION_TRANSLATION_CHECKS_H_
#define TRIVIUM_SERVER_TRANSLATION_TRANSLATION_CHECKS_H_

#include <unicode/uniset.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace trivium {

// Checks of what looks wrong with a translation. They read only its text and
// the source's. Each may be mistaken; docs/text-to-text.md says how often they
// object to people's translations between English and German. Time is linear in
// the texts.

// True if words or characters repeat, in a longer run than in the source. A
// unit of up to 16 words counts if it comes at least twice in a row and at
// least three words are repeats, so a single word must come four times. A unit
// of up to 16 characters counts if it comes at least four times and at least 10
// characters are repeats.
bool RepeatsItself(std::string_view source, std::string_view translation);

// True if at least half of the translation's words, and at least four, are in
// runs of three that the source also has. Words with a capital, which may be
// names, must not be more than half of these.
bool CopiesSource(std::string_view source, std::string_view translation);

// True if one text has more than twice as many letters as the other, plus a
// few; a character of Chinese, Japanese or Korean counts as three. Also true if
// the translation of a source with letters or digits is blank.
bool HasUnlikelyLength(std::string_view source, std::string_view translation);

// True if the translation has U+FFFD more often than the source.
bool HasReplacementCharacters(std::string_view source,
                              std::string_view translation);

// Tells texts in one language from those in others, by CLD2. Immutable and
// thread-safe.
class LanguageCheck {
 public:
  // `language`: BCP 47, or such as "deu_Latn". Returns nullopt if CLD2 does not
  // know it.
  static std::optional<LanguageCheck> For(std::string_view language);

  // True if most of the text is surely in another language. Languages that are
  // hard to tell apart (Danish and Norwegian) count as one. Never true for a
  // few words, or for words that may all be names, since they begin with
  // capitals.
  bool IsAnother(std::string_view text) const;

  // True if `language` is this one, or hard to tell from it.
  bool IsSame(std::string_view language) const;

  // True if the whole text is surely in the language. Never true for words that
  // may all be names, or if the text has letters that the language lacks.
  bool IsSurely(std::string_view text) const;

 private:
  explicit LanguageCheck(std::string language);

  std::string language_;  // as Canonical() in the .cc returns it
  std::shared_ptr<const icu::UnicodeSet> letters_;  // null: unknown
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_TRANSLATION_CHECKS_H_
