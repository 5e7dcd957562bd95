#include "client/commands/terminal.h"

#include <sys/ioctl.h>
#include <unicode/uchar.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/utf8.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char32_t kZeroWidthJoiner = 0x200D;

bool Is(char32_t c, UProperty property) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), property);
}

int32_t ValueOf(char32_t c, UProperty property) {
  return u_getIntPropertyValue(static_cast<UChar32>(c), property);
}

bool IsInvisible(char32_t c) {
  // Parts of emoji, and signs around numbers, which are visible.
  if (c == kZeroWidthJoiner || Is(c, UCHAR_VARIATION_SELECTOR) ||
      Is(c, UCHAR_PREPENDED_CONCATENATION_MARK)) {
    return false;
  }
  constexpr uint32_t kInvisible =
      U_GC_CC_MASK | U_GC_CF_MASK | U_GC_ZL_MASK | U_GC_ZP_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & kInvisible) != 0 ||
         Is(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
}

// Returns the columns of a character (Unicode Standard Annex 11).
int WidthOf(char32_t c) {
  constexpr uint32_t kAbove = U_GC_MN_MASK | U_GC_ME_MASK;
  const int32_t syllable = ValueOf(c, UCHAR_HANGUL_SYLLABLE_TYPE);
  if (c == kZeroWidthJoiner ||
      (U_GET_GC_MASK(static_cast<UChar32>(c)) & kAbove) != 0 ||
      syllable == U_HST_VOWEL_JAMO || syllable == U_HST_TRAILING_JAMO) {
    return 0;
  }
  const int32_t width = ValueOf(c, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

}  // namespace

int TerminalRows(FILE* file) {
  winsize size{};
  return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool IsTerminal(FILE* file) { return isatty(fileno(file)) == 1; }

bool ShowsColors(FILE* file) {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return IsTerminal(file) && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

std::string Visible(std::string_view text) {
  std::string visible;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!first.well_formed) {
      visible += fmt::format("<0x{:02X}>", static_cast<uint8_t>(text[0]));
    } else if (first.value < 0x20) {
      AppendUtf8(0x2400 + first.value, &visible);  // the character's picture
    } else if (IsInvisible(first.value)) {
      visible += fmt::format("<{:x}>", static_cast<uint32_t>(first.value));
    } else {
      visible += text.substr(0, first.size);
    }
    text.remove_prefix(first.size);
  }
  return visible;
}

int Columns(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    columns += WidthOf(first.value);
    text.remove_prefix(first.size);
  }
  return columns;
}

std::string InColumns(std::string_view text, int columns) {
  std::string out;
  const bool cut = Columns(text) > columns;
  const int room = cut ? columns - 1 : columns;
  int used = 0;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    const int width = WidthOf(first.value);
    if (used + width > room) break;
    used += width;
    out += text.substr(0, first.size);
    text.remove_prefix(first.size);
  }
  if (cut) {
    out += "\u2026";
    ++used;
  }
  return out + std::string(columns - used, ' ');
}

std::string Colors::Paint(std::string_view sgr, std::string_view text) const {
  if (!on_) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", sgr, text);
}

}  // namespace trivium
