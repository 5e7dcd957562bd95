#ifndef TRIVIUM_SERVER_TRANSLATION_LANGUAGE_TAGS_H_
#define TRIVIUM_SERVER_TRANSLATION_LANGUAGE_TAGS_H_

#include <string_view>
#include <vector>

#include "server/translation/text_edits.h"

namespace trivium {

// Returns the edits of an HTML or XML text that make its lang and xml:lang
// attributes follow a translation from `source` to `target`, both BCP 47 tags.
// Attributes of another language stay, and so do those of elements that are not
// translated. If `source` is empty, it is that of the text's first element.
// Returns none if `target` is empty.
std::vector<TextEdit> LanguageTagEdits(std::string_view text, bool xml,
                                       std::string_view source,
                                       std::string_view target);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_LANGUAGE_TAGS_H_
