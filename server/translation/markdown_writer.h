#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_WRITER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_WRITER_H_

#include <string>
#include <string_view>

#include "server/translation/markdown_escapes.h"
#include "server/translation/markup_plan.h"

namespace trivium {

// Returns a sentence's translation with its tags, as Markdown. `marks`: what
// needs no backslash. Whether "**" begins or ends emphasis depends on the
// characters beside it. So each attempt is parsed again, and the first one that
// parses as intended is returned:
//   1. with each delimiter as in the source, but "_" within a word as "*";
//   2. with "*" and "_" alternating in nested emphasis;
//   3. as in 2, with spaces around delimiters that touch letters or each other;
//   4. the same three with a backslash before each bracket and bar, if some had
//   none since the source's have none;
//   5. the source sentence, untranslated.
// Markdown has no emphasis around nothing, so such an element gets a zero width
// space.
std::string WriteMarkdown(const Markup& markup,
                          const Markup::Sentence& sentence,
                          std::string_view translation, const MarkupPlan& plan,
                          PlainMarks marks);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_WRITER_H_
