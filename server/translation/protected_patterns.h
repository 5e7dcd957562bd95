#ifndef TRIVIUM_SERVER_TRANSLATION_PROTECTED_PATTERNS_H_
#define TRIVIUM_SERVER_TRANSLATION_PROTECTED_PATTERNS_H_

#include "server/translation/protected_spans.h"

namespace trivium {

// Returns the pattern of a kind of spans, which are the matches of group 1. Not
// for the kinds of ICU messages, whose arguments nest.
const re2::RE2& PatternOf(ProtectedKind kind);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PROTECTED_PATTERNS_H_
