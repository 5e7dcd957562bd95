#ifndef TRIVIUM_SERVER_TRANSLATION_UNUSUAL_SPACES_H_
#define TRIVIUM_SERVER_TRANSLATION_UNUSUAL_SPACES_H_

#include <string_view>
#include <vector>

#include "server/translation/text_edits.h"

namespace trivium {

// Spaces that are no " ", such as the no-break space of "10 km". Most models
// read and write only " ".

// Returns edits of a translation, in order: each of the source's unusual spaces
// replaces the " " that stands for it, if that is clear. It is clear between
// words that are the same in both texts, and beside a number or a word that
// both have.
//
// `spaces`: spans of `source`, and the space that each was in the call's text.
std::vector<TextEdit> UnusualSpaceEdits(std::string_view source,
                                        const std::vector<TextEdit>& spaces,
                                        std::string_view translation);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_UNUSUAL_SPACES_H_
