#ifndef TRIVIUM_MODEL_CHAT_FORMAT_GRAMMAR_PARTS_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_GRAMMAR_PARTS_H_

#include <string_view>

#include "model/grammar/grammar.h"

namespace trivium {

// Adds all rules of `part` to `grammar` and returns a call of its root.
ExpressionId AddGrammar(const Grammar& part, Grammar* grammar);

// Texts of UTF-8 that end with `mark` and have it nowhere else. `mark` is not
// empty.
ExpressionId TextUpTo(std::string_view mark, Grammar* grammar);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_GRAMMAR_PARTS_H_
