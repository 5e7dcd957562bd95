#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_ESCAPES_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_ESCAPES_H_

#include <string>
#include <string_view>

#include "server/translation/sentences.h"

namespace trivium {

// Characters that are plain text without a backslash where a sentence stands,
// as its source shows.
struct PlainMarks {
  bool brackets = false;  // [ and ]
  bool bars = false;      // |, outside of tables
};

// Returns a span of a sentence as Markdown that reads as plain text. A
// backslash precedes each character that would be markup there. At the
// sentence's begin, a backslash also precedes what would begin a list, heading
// or quote at the begin of a line. A backslash before a letter is one, so a
// writer of tags doubles the one that a tag would follow. Line breaks become
// spaces.
//
//   EscapeMarkdown("1. 2 * 3 *is* a_b", {0, 17})  // "1\\. 2 * 3 \\*is\\* a_b"
std::string EscapeMarkdown(std::string_view sentence, TextSpan span,
                           PlainMarks plain = {});

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_ESCAPES_H_
