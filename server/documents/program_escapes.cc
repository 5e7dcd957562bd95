#include "server/documents/program_escapes.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "base/utf8.h"

namespace trivium {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Reads the four digits of \uXXXX at `at`, behind the backslash; -1: it is
// none.
int32_t UnitAt(std::string_view raw, size_t at) {
  if (at + 5 > raw.size() || raw[at] != 'u') return -1;
  const char* const begin = raw.data() + at + 1;
  int32_t value = 0;
  const auto read = std::from_chars(begin, begin + 4, value, 16);
  const bool good = read.ec == std::errc() && read.ptr == begin + 4 &&
                    absl::ascii_isxdigit(static_cast<unsigned char>(*begin));
  return good ? value : -1;
}

}  // namespace

std::string UnescapeProgram(std::string_view raw, char dropped) {
  std::string out;
  for (size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] == dropped && dropped != 0) continue;
    if (raw[at] != '\\') {
      out += raw[at];
      continue;
    }
    if (++at == raw.size()) break;
    if (const int32_t unit = UnitAt(raw, at); unit >= 0) {
      at += 4;
      char32_t value = static_cast<char32_t>(unit);
      if (unit >= 0xD800 && unit < 0xDC00) {
        const int32_t low = at + 2 < raw.size() && raw[at + 1] == '\\'
                                ? UnitAt(raw, at + 2)
                                : -1;
        value = kReplacement;
        if (low >= 0xDC00 && low < 0xE000) {
          value = 0x10000 + (static_cast<char32_t>(unit - 0xD800) << 10) +
                  static_cast<char32_t>(low - 0xDC00);
          at += 6;
        }
      } else if (unit >= 0xDC00 && unit < 0xE000) {
        value = kReplacement;
      }
      AppendUtf8(value, &out);
      continue;
    }
    constexpr std::string_view kNames = "ntrf";
    constexpr std::string_view kValues = "\n\t\r\f";
    const size_t name = kNames.find(raw[at]);
    out += name == kNames.npos ? raw[at] : kValues[name];
  }
  return out;
}

std::string EscapeToAscii(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    text.remove_prefix(first.size);
    const auto value = static_cast<uint32_t>(first.value);
    if (value < 0x80) {
      out += static_cast<char>(value);
    } else if (value < 0x10000) {
      out += fmt::format("\\u{:04X}", value);
    } else {
      out += fmt::format("\\u{:04X}\\u{:04X}", 0xD7C0 + (value >> 10),
                         0xDC00 + (value & 0x3FF));
    }
  }
  return out;
}

}  // namespace trivium
