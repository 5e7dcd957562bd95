#ifndef TRIVIUM_CLIENT_COMMANDS_TERMINAL_H_
#define TRIVIUM_CLIENT_COMMANDS_TERMINAL_H_

#include <cstdio>
#include <string>
#include <string_view>

namespace trivium {

bool IsTerminal(FILE* file);
// Returns the rows of a terminal; 0 if `file` is no terminal or the number is
// unknown.
int TerminalRows(FILE* file);
// True if output to `file` should be coloured: it is a terminal with colours,
// and NO_COLOR (no-color.org) is unset or empty.
bool ShowsColors(FILE* file);

// Makes `text`, which may hold any bytes, safe for a terminal. Characters that
// would move the cursor, change colours, reorder their neighbours or be
// invisible become signs: \n becomes U+240A, U+202E becomes <202e>, a byte that
// is not UTF-8 becomes <0x96>.
std::string Visible(std::string_view text);

// Returns the columns that `text` occupies. `text` is a result of Visible.
int Columns(std::string_view text);
// Returns `text`, padded with spaces or cut to exactly `columns` columns.
std::string InColumns(std::string_view text, int columns);

// Colours for a terminal, or none.
class Colors {
 public:
  explicit Colors(bool on) : on_(on) {}

  // Returns `text` in the style of an SGR sequence, such as "1;31".
  std::string Paint(std::string_view sgr, std::string_view text) const;
  std::string Bold(std::string_view text) const { return Paint("1", text); }
  std::string Dim(std::string_view text) const { return Paint("2", text); }

 private:
  const bool on_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_TERMINAL_H_
