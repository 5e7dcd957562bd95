#ifndef TRIVIUM_SERVER_TEXT_SENTENCE_RULES_H_
#define TRIVIUM_SERVER_TEXT_SENTENCE_RULES_H_

#include <string_view>

namespace trivium {

// Which full stops end no sentence, by language: "en", "de", or any other,
// for which the rules of both hold where they are of one mind.
//
// `left` is what precedes a possible border since the sentence began, without
// white space at its ends; `right` what follows up to the line's end, without
// white space at its beginning. Neither is empty.
bool EndsSentence(std::string_view language, std::string_view left,
                  std::string_view right);

// Whether a full stop ends a sentence although what follows begins with a
// number, which Unicode's rules do not tell from "No. 5".
bool EndsBeforeNumber(std::string_view language, std::string_view left);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TEXT_SENTENCE_RULES_H_
