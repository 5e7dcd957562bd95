#ifndef TRIVIUM_SERVER_TRANSLATION_ALIGNED_NUMBERS_H_
#define TRIVIUM_SERVER_TRANSLATION_ALIGNED_NUMBERS_H_

#include <string_view>
#include <vector>

#include "server/translation/markup.h"
#include "server/translation/sentences.h"

namespace trivium {

// Aligns numbers by their digits, which attention often confuses: "$29.99" with
// "29,99 $", each with the sign beside it. Adds those that both texts have once
// to `words`, which are sorted by their targets. `sentence` is the part of
// `text` that was translated.
void AlignNumbers(std::string_view text, TextSpan sentence,
                  std::string_view translation,
                  std::vector<AlignedWords>* words);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_ALIGNED_NUMBERS_H_
