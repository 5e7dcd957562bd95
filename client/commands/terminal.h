#ifndef TRIVIUM_CLIENT_COMMANDS_TERMINAL_H_
#define TRIVIUM_CLIENT_COMMANDS_TERMINAL_H_

#include <cstdio>
#include <string>
#include <string_view>

namespace trivium {

bool IsTerminal(FILE* file);
// Rows of a terminal; 0: it is none, or does not tell.
int TerminalRows(FILE* file);
// Whether to colour what goes to `file`: it is a terminal that can, and
// NO_COLOR (no-color.org) is unset or empty.
bool ShowsColors(FILE* file);

// `text`, which may hold anything, as a terminal can show it: what would move
// its cursor, change its colours, reorder its neighbours or not be seen becomes
// a sign: \n U+240A, U+202E <202e>, a byte that is not UTF-8 <0x96>.
std::string Visible(std::string_view text);

// Columns that `text`, which is Visible, takes.
int Columns(std::string_view text);
// `text` filled with spaces, or cut, to `columns`.
std::string InColumns(std::string_view text, int columns);

// Colours of a terminal, or nothing.
class Colors {
 public:
  explicit Colors(bool on) : on_(on) {}

  // `text` in the style of an SGR sequence, such as "1;31".
  std::string Paint(std::string_view sgr, std::string_view text) const;
  std::string Bold(std::string_view text) const { return Paint("1", text); }
  std::string Dim(std::string_view text) const { return Paint("2", text); }

 private:
  const bool on_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_TERMINAL_H_
