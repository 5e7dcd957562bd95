#ifndef TRIVIUM_MODEL_GRAMMAR_UNICODE_SETS_H_
#define TRIVIUM_MODEL_GRAMMAR_UNICODE_SETS_H_

#include <optional>
#include <string_view>

#include "model/grammar/code_points.h"

namespace trivium {

// Returns the characters of a property as expressions name it behind \p: a
// general category (L, Lu, Letter), a script (Script=Greek) or a binary
// property (Alphabetic). Nothing if Unicode has none of that name.
std::optional<CodePointSet> PropertySet(std::string_view name);

// Returns the set with all characters that are the same but for their case.
CodePointSet WithOtherCases(const CodePointSet& set);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_UNICODE_SETS_H_
