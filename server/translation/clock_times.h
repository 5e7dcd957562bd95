#ifndef TRIVIUM_SERVER_TRANSLATION_CLOCK_TIMES_H_
#define TRIVIUM_SERVER_TRANSLATION_CLOCK_TIMES_H_

#include <string_view>
#include <vector>

#include "server/translation/numbers.h"
#include "server/translation/text_edits.h"

namespace trivium {

// Returns edits of a translation to German or English that write its times of
// day as the language says them, in order of their places:
//   - "3:30 pm" is "15:30 Uhr", not "3:30 Uhr" or "3:30 p.m."
//   - "15:30 Uhr" is "15:30" or "3:30 p.m.", not "3:30" or "15:30 p.m."
//   - "9:30 Uhr morgens" is "9:30 a.m.", not "9:30 p.m."
// Only times of the source change. None for other languages. `source_numbers`
// and `numbers` are NumbersIn() the texts.
std::vector<TextEdit> ClockTimeEdits(
    std::string_view source, const std::vector<WrittenNumber>& source_numbers,
    std::string_view translation, const std::vector<WrittenNumber>& numbers,
    std::string_view target);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_CLOCK_TIMES_H_
