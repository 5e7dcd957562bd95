#ifndef TRIVIUM_SERVER_TRANSLATION_CHARACTERS_H_
#define TRIVIUM_SERVER_TRANSLATION_CHARACTERS_H_

#include <unicode/uchar.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace trivium {

inline constexpr std::string_view kNoBreakSpace = "\u00A0";

// The texts of the functions below must not be empty. Bytes that are not UTF-8
// count as characters of one byte.

inline UChar32 FirstCharacter(std::string_view text) {
  return static_cast<UChar32>(FirstCodePoint(text).value);
}

// Returns the size of the last character in bytes.
inline size_t LastCharacterSize(std::string_view text) {
  size_t size = 1;
  while (size < std::min<size_t>(text.size(), 4) &&
         IsContinuation(text[text.size() - size])) {
    ++size;
  }
  return FirstCodePoint(text.substr(text.size() - size)).size == size ? size
                                                                      : 1;
}

// Returns the text with its first character in upper case.
inline std::string WithCapital(std::string_view text) {
  std::string out;
  AppendUtf8(u_toupper(FirstCharacter(text)), &out);
  out += text.substr(FirstCodePoint(text).size);
  return out;
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_CHARACTERS_H_
