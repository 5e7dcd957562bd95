#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_LEXER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_LEXER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivium {

// These functions find the ends of elements that md4c reports without their
// offsets. ParsedMarkdown adapts a text so that md4c can parse it.

// Returns the offset just past the front matter at the text's begin, which is
// YAML within "---" or TOML within "+++". Returns 0 if there is none.
size_t AfterFrontMatter(std::string_view text);

// Returns the offset just past the line break at `at`, or `at` if there is
// none. The break includes the white space before it, its backslash if `hard`,
// and the white space and quote marks that begin the next line.
size_t AfterLineBreak(std::string_view text, size_t at, bool hard);

// Returns the offset just past the closing part of a link whose text ends at
// `at`: "](/a 'title')", "][name]", "][]" or "]". The part ends at `most` at
// the latest. Returns `at` if there is none.
size_t AfterLink(std::string_view text, size_t at, size_t most);

// Returns a link's label without line breaks and quote marks.
std::string InOneLine(std::string_view label);

// A text adapted to md4c 0.4, with a map back to the original offsets. md4c
// needs three characters in each cell of the line under a table's head, where
// GitHub needs one dash. It allows no line end right after "<!--". And it knows
// no footnotes: one with further paragraphs is an item of a list, and one of a
// single word would be the address of a link.
class ParsedMarkdown {
 public:
  explicit ParsedMarkdown(std::string_view text);

  const std::string& text() const { return text_; }
  // Returns the original text's offset for an offset in text().
  size_t PlaceOf(size_t at) const;

 private:
  void Insert(std::string_view more);
  void AddTableRule(std::string_view line);

  std::string text_;
  // For each insertion: its end in text_, and the number of bytes inserted up
  // to there. Ascending.
  std::vector<std::pair<size_t, size_t>> added_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_LEXER_H_
