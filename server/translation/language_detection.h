#ifndef TRIVIUM_SERVER_TRANSLATION_LANGUAGE_DETECTION_H_
#define TRIVIUM_SERVER_TRANSLATION_LANGUAGE_DETECTION_H_

#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// A language that a text is in, as far as CLD2 tells.
struct LanguageGuess {
  std::string language;  // BCP 47: "de", "zh-Hant"
  int percent = 0;       // of the text
  // CLD2 is sure of the text; else it is what CLD2 would say if it had to, as
  // of one or two words.
  bool reliable = false;
};

// At most three, the one of most of the text first; none where there is nothing
// to go by ("12345"). Of a long text the beginning is looked at. The same for
// the same text; time is linear.
std::vector<LanguageGuess> DetectLanguages(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_LANGUAGE_DETECTION_H_
