#ifndef TRIVIUM_SERVER_TRANSLATION_CUT_WORDS_H_
#define TRIVIUM_SERVER_TRANSLATION_CUT_WORDS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "server/translation/markup.h"
#include "server/translation/sentences.h"

namespace trivium {

// Words that tags cut, such as "Java<b>Script</b>".

// Returns the letters and digits around a place in a text, if there are some on
// both sides; else an empty span.
TextSpan WordAround(std::string_view text, size_t at);

// Returns the place of a word in a text that has it once; else npos.
size_t OnlyWord(std::string_view text, std::string_view word);

// Returns the place of an ordinal's number and ending in a translation that
// writes the ordinal in another way, as "2." or "2e" for "2nd", if it has such
// an ordinal once. Else an empty span.
TextSpan OrdinalOf(std::string_view translation, std::string_view word);

// Aligns the parts of cut words that the translation has once and unchanged,
// and adds them to `words`; also the number and the ending of an ordinal.
// `places` are those of the tags in `text`; they ascend. `sentence` is the part
// of the text that was translated. Returns where to cut the translation.
std::vector<size_t> AlignPartsOfWords(std::string_view text, TextSpan sentence,
                                      const std::vector<size_t>& places,
                                      std::string_view translation,
                                      std::vector<AlignedWords>* words);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_CUT_WORDS_H_
