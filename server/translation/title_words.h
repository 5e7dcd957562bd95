#ifndef TRIVIUM_SERVER_TRANSLATION_TITLE_WORDS_H_
#define TRIVIUM_SERVER_TRANSLATION_TITLE_WORDS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"

namespace trivium {

// The words of English and German that are no names, so that a capital within a
// sentence makes it a title: articles, pronouns, auxiliaries and the like.
// Words are given in small letters. Other languages have none. Immutable.
class TitleWords {
 public:
  // `code`: ICU's code of a language, "en".
  static const TitleWords& Of(std::string_view code);

  // True if sentences write the word in small letters, "you".
  bool IsSmall(std::string_view word) const { return Has(small_, word); }
  // True if a capital on the word surely makes a title: not on "Sie", "May".
  bool IsEvidence(std::string_view word) const {
    return IsSmall(word) && !Has(doubtful_, word);
  }
  // True if titles, too, may write the word in small letters.
  bool IsSmallInTitles(std::string_view word) const {
    return Has(small_in_titles_, word);
  }
  // Tells by a word's ending how sentences write it: true for small letters, as
  // German's adjectives, false for a capital, as its nouns. Nullopt: the ending
  // does not tell.
  std::optional<bool> SmallByEnding(std::string_view word) const;

 private:
  using Words = absl::flat_hash_set<std::string>;

  TitleWords(bool endings, std::string_view small, std::string_view doubtful,
             std::string_view small_in_titles);
  static bool Has(const Words& words, std::string_view word) {
    return words.contains(std::string(word));
  }

  bool endings_;
  Words small_, doubtful_, small_in_titles_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_TITLE_WORDS_H_
