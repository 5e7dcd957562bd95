#ifndef TRIVIUM_SERVER_TRANSLATION_MARK_BORDERS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARK_BORDERS_H_

#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// Returns the parts of a sentence between marks that separate items, such as
// the "|" of "Home | Events" and bullets. A mark has white space on both sides,
// or is at an end of the sentence. Tabs between words, as in a table's row, and
// the numbers of a list in one line, as in "a) red b) blue", are marks, too,
// and so are the signs of a path, as in "Home > Events". The parts have neither
// marks nor white space at their ends. Returns the sentence itself if it has no
// marks; none if it is all marks.
std::vector<TextSpan> CutAtMarks(std::string_view text, TextSpan sentence);

// True for "|" and its like.
bool IsBar(char32_t c);

// True if the bar at byte `at` of a text parts two items without spaces around
// it: "Home|About us", "1|The house". But "foo|bar" is one word of a program.
bool IsBarBetweenWords(std::string_view text, size_t at);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARK_BORDERS_H_
