#ifndef TRIVIUM_SERVER_DOCUMENTS_TEXT_LINES_H_
#define TRIVIUM_SERVER_DOCUMENTS_TEXT_LINES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// Helpers for texts in UTF-8. White space is Unicode's, with the separators
// U+001C to U+001F.

// Returns how many bytes of white space a text begins or ends with.
size_t LeadingSpace(std::string_view text);
size_t TrailingSpace(std::string_view text);
bool IsSpaces(std::string_view text);
// Returns the text without white space around it.
std::string_view StripSpace(std::string_view text);

// Replaces each run of ASCII white space by a space, as markup formats read it.
std::string Collapse(std::string_view text);

// Bytes that no text in UTF-8 has. Readers mark places with them.
inline constexpr char kUnusedBytes[] = "\xFA\xFB\xFC\xFD\xFE";
// Returns the text without such bytes.
std::string Unmarked(std::string_view text);

// Splits a text into lines, each with its line break: \r\n, \r or \n.
std::vector<std::string_view> SplitLines(std::string_view text);
// Returns the line break at the end of a line; empty if it has none.
std::string_view BreakOf(std::string_view line);

// Line numbers, from 1, of offsets in a text.
class LinePlaces {
 public:
  explicit LinePlaces(std::string_view text);

  size_t Line(size_t offset) const;
  // "line 12"
  std::string Place(size_t offset) const;
  // "line 12, column 3": columns are counted in characters of `text`.
  std::string PlaceInLine(std::string_view text, size_t offset) const;

 private:
  std::vector<size_t> ends_;  // of lines, behind their breaks
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_TEXT_LINES_H_
