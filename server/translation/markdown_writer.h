#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_WRITER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_WRITER_H_

#include <string>
#include <string_view>

#include "server/translation/markup_plan.h"

namespace trivium {

// A sentence's translation with its tags, as Markdown. Whether "**" begins or
// ends anything depends on what is beside it, so what was written is read
// again; where it is not what was meant, it is written
//   1. with each delimiter as it was, but "_" within a word as "*";
//   2. with "*" and "_" by turns in one another;
//   3. so, with spaces around delimiters that touch letters or one another;
//   4. as the source has it, untranslated.
// Emphasis around no word, which Markdown has not, gets a zero width space.
std::string WriteMarkdown(const Markup& markup,
                          const Markup::Sentence& sentence,
                          std::string_view translation, const MarkupPlan& plan);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_WRITER_H_
