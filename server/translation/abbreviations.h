#ifndef TRIVIUM_SERVER_TRANSLATION_ABBREVIATIONS_H_
#define TRIVIUM_SERVER_TRANSLATION_ABBREVIATIONS_H_

#include <string_view>

namespace trivium {

// What a word before a full stop is.
enum class Abbreviation {
  kNone,
  kBeforeName,    // something always follows: "Dr.", "z.B.", "bzw."
  kBeforeNumber,  // only before a number, else a word: "No.", "Art."
  kAnywhere,      // may also end a sentence: "etc.", "Inc.", "U.S."
};

// Of a word without its last full stop, as it is written.
Abbreviation FindAbbreviation(std::string_view language, std::string_view word);

// Whether sentences often begin with the word, in capitals as there, so that a
// stop before it that may end a sentence does: "The", "Er".
bool IsSentenceStarter(std::string_view language, std::string_view word);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_ABBREVIATIONS_H_
