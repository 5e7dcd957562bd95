#ifndef TRIVIUM_SERVER_TRANSLATION_LETTER_CASE_H_
#define TRIVIUM_SERVER_TRANSLATION_LETTER_CASE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/translation/place_names.h"
#include "server/translation/sentences.h"
#include "server/translation/title_words.h"

namespace trivium {

// The case of a sentence's letters.
enum class LetterCase {
  kNormal,    // as its language writes sentences
  kCapitals,  // THE CAT SAT THERE.
  kTitle,     // The Cat Sat There, where the language has no capitals
};

// Finds sentences in capitals and titles, and writes them in normal case. A
// model that has seldom seen capitals reads many small pieces instead of words.
// So the model's vocabulary tells how a word is written: as the form that has
// few and frequent pieces.
//
//   const LetterCases cases("en", ids_of_word);
//   cases.InNormalCase("WHAT ELSE IS HAPPENING?", {}, {})
//       .text  // "What else is happening?"
//
// Never changes the number of bytes of a text. Immutable and thread-safe.
class LetterCases {
 public:
  // Returns the ids of a word's pieces; a smaller id is a more frequent piece.
  using IdsOfWord = std::function<std::vector<int32_t>(std::string_view word)>;
  // A word in small letters, and how a text writes it in normal case.
  using KnownWords = std::unordered_map<std::string, std::string>;

  // `language`: BCP 47, of the texts.
  LetterCases(std::string_view language, IdsOfWord ids_of_word);

  // Returns how the text writes words that are not in capitals and do not begin
  // a sentence. Sentences that may be titles do not count.
  KnownWords WordsOf(std::string_view text) const;

  struct Normal {
    LetterCase was = LetterCase::kNormal;
    bool whole_title = false;  // a title whose short words have capitals, too
    std::string text;
  };
  // Returns the sentence in normal case. Letters in `apart`, ascending and
  // disjoint, stay as they are. `known` has words of the text around it.
  Normal InNormalCase(std::string_view sentence,
                      const std::vector<TextSpan>& apart,
                      const KnownWords& known) const;

  // A text that is one word with a capital, such as a label, in another form.
  struct OtherForm {
    std::string text;
    // The translation of `text` to English begins with it, the word's does not.
    std::string_view before = {};
  };
  // Returns another form for a model to read if it copied the word, or nullopt
  // for any other text. English: the small form, if it is a frequent word of
  // the vocabulary or has the ending of a common word. German: with an article.
  // Names hardly ever have translations in these forms.
  std::optional<OtherForm> FormIfCopied(std::string_view text) const;

  // Returns the translation of a title with capitals for words that it took
  // from the source, as names are: small letters hid that they are.
  std::string WithCopiedNames(std::string_view title,
                              std::string translation) const;

 private:
  struct Word;

  std::vector<Word> Words(std::string_view sentence,
                          const std::vector<TextSpan>& apart) const;
  LetterCase CaseOf(std::string_view sentence,
                    const std::vector<Word>& words) const;
  bool IsCapitals(const std::vector<Word>& words) const;
  bool IsTitle(std::string_view sentence, const std::vector<Word>& words) const;
  // True if the capitals within the sentence make it a title: words that are no
  // names have one, and so has each word that no title writes in small letters.
  bool HasCapitalsOfTitle(std::string_view sentence,
                          const std::vector<Word>& words) const;
  // Returns how rare a word is: the sum of its pieces' logarithmic ranks, as
  // frequencies follow Zipf's law.
  double Rarity(std::string_view word) const;
  // True if a word is written in small letters inside a sentence.
  bool PrefersSmall(const std::string& small, const std::string& capital) const;
  // True if a word in capitals in a normal sentence is a common word.
  bool IsEmphasis(const Word& word) const;
  // True for a place's name that is no frequent word as well.
  bool IsPlace(const std::string& small) const;
  // True if a word with a capital is a common word, which has none inside a
  // sentence.
  bool IsCommon(const Word& word) const;
  // Returns a word in capitals in small letters: with "ß" for "SS" where the
  // vocabulary knows a German word so.
  std::string SmallOfCapitals(std::string_view capitals) const;
  // Returns the word as it is written inside a sentence.
  std::string NormalForm(const Word& word, LetterCase sentence,
                         const KnownWords& known) const;

  // Writes clauses in capitals within a sentence in normal case, such as a
  // quotation, and keeps single words.
  void LowerClauses(std::string_view sentence, const std::vector<Word>& words,
                    const KnownWords& known, std::string* text) const;

  // Returns the word as a title's words are within a sentence.
  std::string TitleForm(const Word& word) const;

  IdsOfWord ids_of_word_;
  const TitleWords& title_words_;
  const PlaceNames& place_names_;
  bool english_;
  bool german_;
  bool nouns_;  // the language writes nouns with capitals
};

// Return the text in small letters, or with a capital at its beginning. Letters
// that would have another number of bytes stay.
std::string InSmallLetters(std::string_view text);
std::string Capitalized(std::string_view text);

// Returns the text in capitals.
std::string InCapitals(std::string_view text,
                       const std::vector<TextSpan>& apart);

// Returns the text as English writes titles: with capitals but for short words
// inside. `all`: short words have capitals, too.
std::string InTitleCase(std::string_view text,
                        const std::vector<TextSpan>& apart, bool all);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_LETTER_CASE_H_
