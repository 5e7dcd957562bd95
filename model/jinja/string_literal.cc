#include "model/jinja/string_literal.h"

#include <string_view>

namespace trivium::jinja {

namespace {

int DigitOf(char32_t c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<int>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<int>(c - 'A' + 10);
  return 16;
}

// Reads up to `most` digits of the base and moves `at` past them.
char32_t ReadDigits(TextView text, int base, int most, size_t* at) {
  char32_t code = 0;
  for (int i = 0; i < most && *at < text.size(); ++i, ++*at) {
    const int digit = DigitOf(text[*at]);
    if (digit >= base) break;
    code = code * static_cast<char32_t>(base) + static_cast<char32_t>(digit);
  }
  return code;
}

}  // namespace

absl::StatusOr<Text> Unescaped(TextView literal) {
  constexpr std::u32string_view kNames = U"\\'\"abfnrtv";
  constexpr std::u32string_view kCodes = U"\\'\"\a\b\f\n\r\t\v";
  Text text;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      text.push_back(literal[i]);
      continue;
    }
    const char32_t kind = literal[++i];
    if (kind == '\n') continue;
    if (const size_t known = kNames.find(kind); known != kNames.npos) {
      text.push_back(kCodes[known]);
      continue;
    }
    const int hexadecimal = kind == 'x'   ? 2
                            : kind == 'u' ? 4
                            : kind == 'U' ? 8
                                          : 0;
    if (hexadecimal > 0) {
      size_t at = i + 1;
      const char32_t code = ReadDigits(literal, 16, hexadecimal, &at);
      if (at - i - 1 != static_cast<size_t>(hexadecimal) || code > 0x10FFFF ||
          (code >= 0xD800 && code < 0xE000)) {
        return absl::InvalidArgumentError("an escape is not a code point");
      }
      text.push_back(code);
      i = at - 1;
    } else if (DigitOf(kind) < 8) {
      size_t at = i;
      text.push_back(ReadDigits(literal, 8, 3, &at));
      i = at - 1;
    } else if (kind == 'N') {
      return absl::InvalidArgumentError(
          "\\N{...} is not supported; write the character");
    } else {
      text.push_back('\\');
      text.push_back(kind);
    }
  }
  return text;
}

}  // namespace trivium::jinja
