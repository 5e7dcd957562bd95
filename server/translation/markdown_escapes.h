#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_ESCAPES_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_ESCAPES_H_

#include <string>
#include <string_view>

#include "server/translation/sentences.h"

namespace trivium {

// A span of a sentence as Markdown that says just that: with backslashes before
// what would be markup there, and, where the sentence begins, before what would
// begin a list, heading or quote if a line began with it.
//
//   EscapeMarkdown("1. 2 * 3 *is* a_b", {0, 17})  // "1\\. 2 * 3 \\*is\\* a_b"
std::string EscapeMarkdown(std::string_view sentence, TextSpan span);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_ESCAPES_H_
