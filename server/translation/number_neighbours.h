#ifndef TRIVIUM_SERVER_TRANSLATION_NUMBER_NEIGHBOURS_H_
#define TRIVIUM_SERVER_TRANSLATION_NUMBER_NEIGHBOURS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/numbers.h"
#include "server/translation/text_edits.h"

namespace trivium {

// A text with its numbers.
struct NumberedText {
  std::string_view text;
  std::vector<WrittenNumber> numbers;
};

// Returns edits of a translation, in order: marks of ordinals as the target
// language has them ("2nd" is the German "2."), the space before a number,
// currencies that are lost, "Mrd." for "bn", and no full stop behind a Roman
// numeral within an English sentence. `source_language` and `target_language`
// are such as "en".
std::vector<TextEdit> NeighbourEdits(const NumberedText& source,
                                     std::string_view source_language,
                                     const NumberedText& translation,
                                     std::string_view target_language);

// Returns the source's numbers, as indices, whose currency does not stand
// beside the same number of the translation, or whose "million" is lost.
std::vector<size_t> WithoutCurrency(const NumberedText& source,
                                    const NumberedText& translation);

// Returns the span with the signs of a currency or of percent beside it, and a
// code such as "EUR", with the space between.
TextSpan WithSigns(std::string_view text, TextSpan number);

// Returns an amount with its sign where the language has it: "$5", "5 $".
std::string WithSignInPlace(std::string amount, std::string_view language);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_NUMBER_NEIGHBOURS_H_
