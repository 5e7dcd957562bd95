#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_LEXER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_LEXER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivium {

// Where in Markdown's bytes things end that md4c reports without their places,
// and what md4c must be given to read them at all.

// Behind "---" and YAML, or "+++" and TOML, at the text's begin; 0: there is
// none.
size_t AfterFrontMatter(std::string_view text);

// Behind the line break at `at`, the white space before it, if `hard` its
// backslash, and what begins the next line: white space and marks of quotes.
// `at`: there is none.
size_t AfterLineBreak(std::string_view text, size_t at, bool hard);

// Behind the end of a link's text at `at`, with what follows it and ends at
// `most` at the latest: "](/a 'title')", "][name]", "][]" or "]". `at`: there
// is none.
size_t AfterLink(std::string_view text, size_t at, size_t most);

// A link's name without line breaks and quotes' marks.
std::string InOneLine(std::string_view label);

// A text as md4c 0.4 reads it, which wants three characters in each cell of the
// line under a table's head, where GitHub wants one dash, and no line's end
// behind the begin of a comment.
class ParsedMarkdown {
 public:
  explicit ParsedMarkdown(std::string_view text);

  const std::string& text() const { return text_; }
  // In what it was made of.
  size_t PlaceOf(size_t at) const;

 private:
  void Insert(std::string_view more);
  void AddTableRule(std::string_view line);

  std::string text_;
  // Where in text_ something ends that was added, and how much was up to there:
  // ascending.
  std::vector<std::pair<size_t, size_t>> added_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_LEXER_H_
