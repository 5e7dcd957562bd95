#ifndef TRIVIUM_SERVER_TRANSLATION_SENTENCE_RULES_H_
#define TRIVIUM_SERVER_TRANSLATION_SENTENCE_RULES_H_

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

// Whether a sentence may end at white space where Unicode's rules see no
// border; EndsSentence has the last word there, too. `left` and `right` are as
// its.
bool EndsUnseen(std::string_view language, std::string_view left,
                std::string_view right);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_SENTENCE_RULES_H_
