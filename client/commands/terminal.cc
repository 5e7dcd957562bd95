#include "client/commands/terminal.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "fmt/format.h"

namespace trivium {
namespace {

// The code point at the beginning of `text`, and its bytes; bytes that are not
// UTF-8 are code points of one byte.
uint32_t NextCodePoint(std::string_view text, size_t* bytes) {
  const auto at = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = at(0);
  *bytes = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (*bytes == 1 || *bytes > text.size()) {
    *bytes = 1;
    return lead;
  }
  uint32_t code = lead & (0xFF >> (*bytes + 1));
  for (size_t i = 1; i < *bytes; ++i) code = (code << 6) | (at(i) & 0x3F);
  return code;
}

bool IsInvisible(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0xAD ||
         code == 0x61C ||
         (code >= 0x200B && code <= 0x200F && code != 0x200D) ||
         (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
}

int WidthOf(uint32_t code) {
  const bool combining = (code >= 0x300 && code < 0x370) || code == 0x200D ||
                         (code >= 0x20D0 && code < 0x2100) ||
                         (code >= 0xFE00 && code < 0xFE10);
  if (combining) return 0;
  const bool wide =
      (code >= 0x1100 && code < 0x1160) || (code >= 0x2E80 && code < 0xA4D0) ||
      (code >= 0xAC00 && code < 0xD7A4) || (code >= 0xF900 && code < 0xFB00) ||
      (code >= 0xFE30 && code < 0xFE70) || (code >= 0xFF00 && code < 0xFF61) ||
      (code >= 0x1F300 && code < 0x1FB00) || code >= 0x20000;
  return wide ? 2 : 1;
}

}  // namespace

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
    size_t bytes;
    const uint32_t code = NextCodePoint(text, &bytes);
    if (code < 0x20) {
      // U+2400: signs for these.
      visible += {'\xE2', '\x90', static_cast<char>(0x80 + code)};
    } else if (IsInvisible(code)) {
      visible += fmt::format("<{:x}>", code);
    } else {
      visible += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return visible;
}

int Columns(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    size_t bytes;
    columns += WidthOf(NextCodePoint(text, &bytes));
    text.remove_prefix(bytes);
  }
  return columns;
}

std::string InColumns(std::string_view text, int columns) {
  std::string out;
  const bool cut = Columns(text) > columns;
  const int room = cut ? columns - 1 : columns;
  int used = 0;
  while (!text.empty()) {
    size_t bytes;
    const int width = WidthOf(NextCodePoint(text, &bytes));
    if (used + width > room) break;
    used += width;
    out += text.substr(0, bytes);
    text.remove_prefix(bytes);
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
