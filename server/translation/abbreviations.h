#ifndef TRIVIUM_SERVER_TRANSLATION_ABBREVIATIONS_H_
#define TRIVIUM_SERVER_TRANSLATION_ABBREVIATIONS_H_

#include <string_view>

namespace trivium {

// The kind of a word that stands before a full stop.
enum class Abbreviation {
  kNone,
  kBeforeName,    // never ends a sentence: "Dr.", "z.B.", "bzw."
  kBeforeNumber,  // abbreviates only before a number: "No.", "Art."
  kAnywhere,      // may also end a sentence: "etc.", "Inc.", "U.S."
};

// Looks up a word, given without its last full stop and as it is written.
Abbreviation FindAbbreviation(std::string_view language, std::string_view word);

// True if sentences often begin with this word ("The", "Er"). Case matters. A
// stop that may end a sentence does so before such a word.
bool IsSentenceStarter(std::string_view language, std::string_view word);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_ABBREVIATIONS_H_
