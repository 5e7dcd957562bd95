#ifndef TRIVIUM_SERVER_TRANSLATION_LANGUAGE_DETECTION_H_
#define TRIVIUM_SERVER_TRANSLATION_LANGUAGE_DETECTION_H_

#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// A language that CLD2 recognizes in a text.
struct LanguageGuess {
  std::string language;  // BCP 47: "de", "zh-Hant"
  int percent = 0;       // share of the text
  // CLD2 is sure. If false, this is its best guess, as for a text of one or two
  // words.
  bool reliable = false;
};

// Returns at most three languages, the one with the largest share first.
// Returns none if the text gives no hint ("12345"). Reads only the beginning of
// a long text. Deterministic; time is linear.
std::vector<LanguageGuess> DetectLanguages(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_LANGUAGE_DETECTION_H_
