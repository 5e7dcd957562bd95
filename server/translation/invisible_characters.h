#ifndef TRIVIUM_SERVER_TRANSLATION_INVISIBLE_CHARACTERS_H_
#define TRIVIUM_SERVER_TRANSLATION_INVISIBLE_CHARACTERS_H_

#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// Returns the invisible characters that a reader does not miss, adjacent ones
// as one span: soft hyphens, zero-width spaces, joiners, byte order marks,
// directional marks and variation selectors. Those that a script needs are not
// among them:
//   - joiners and variation selectors in emoji;
//   - joiners next to letters of scripts that join or reorder letters, such as
//     Arabic and Devanagari;
//   - zero-width spaces in scripts without spaces, such as Thai;
//   - directional marks next to letters that are written from right to left.
std::vector<TextSpan> NeedlessInvisibleCharacters(std::string_view text);

// Returns the spaces that are wider or narrower than " ", such as no-break
// spaces, and control characters that are no white space.
std::vector<TextSpan> UnusualSpaces(std::string_view text);

// Returns the hyphens that are not "-", such as non-breaking ones.
std::vector<TextSpan> UnusualHyphens(std::string_view text);

// Returns each "ẞ", which is "SS" to most writers and vocabularies.
std::vector<TextSpan> CapitalSharpS(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_INVISIBLE_CHARACTERS_H_
