#ifndef TRIVIUM_SERVER_TRANSLATION_SENTENCE_RULES_H_
#define TRIVIUM_SERVER_TRANSLATION_SENTENCE_RULES_H_

#include <string_view>

namespace trivium {

// True if a sentence ends between `left` and `right`; false, for example, after
// "Dr.". `language` is "en" or "de"; for any other, only rules apply in which
// English and German agree.
//
// `left` is the text from the beginning of the sentence to the possible border,
// without white space at its ends. `right` is the text from there to the end of
// the line, without white space at its beginning. Neither is empty.
bool EndsSentence(std::string_view language, std::string_view left,
                  std::string_view right);

// True if a sentence may end at white space where Unicode's rules see no
// border. EndsSentence must agree as well. `left` and `right` are as for
// EndsSentence.
bool MayEndWithoutBorder(std::string_view language, std::string_view left,
                         std::string_view right);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_SENTENCE_RULES_H_
