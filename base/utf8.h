#ifndef TRIVIUM_BASE_UTF8_H_
#define TRIVIUM_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trivium {

// The first code point of a text. A byte that begins no well-formed one (RFC
// 3629: no overlong forms, no surrogates, nothing over U+10FFFF) is U+FFFD by
// itself.
struct CodePoint {
  char32_t value = 0xFFFD;
  uint8_t size = 1;  // bytes: 1 to 4
  bool well_formed = false;
};

// Returns the first code point of `text`, which must not be empty.
CodePoint FirstCodePoint(std::string_view text);

// Appends `code_point`, which must be at most U+10FFFF and no surrogate.
void AppendUtf8(char32_t code_point, std::string* text);

// True if the byte continues a code point that began before it.
bool IsContinuation(char byte);

// Returns the number of code points of a well-formed text.
size_t CountCharacters(std::string_view text);

// True if all of `text` is well-formed, as proto3 requires of strings.
bool IsUtf8(std::string_view text);

// True if `text` is empty or consists of white space (Unicode's White_Space
// property), so that there is nothing to translate.
bool IsBlank(std::string_view text);

// Returns the size of `text` without an incomplete code point at its end, which
// more bytes may complete; text.size() if there is none.
size_t WholeSize(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_BASE_UTF8_H_
