#ifndef TRIVIUM_BASE_UTF8_H_
#define TRIVIUM_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trivium {

// A code point at the beginning of a text. A byte that begins no well-formed
// one (RFC 3629: no overlong forms, no surrogates, nothing over U+10FFFF) is
// U+FFFD, alone.
struct CodePoint {
  char32_t value = 0xFFFD;
  uint8_t size = 1;  // bytes: 1 to 4
  bool well_formed = false;
};

// Of `text`, which is not empty.
CodePoint FirstCodePoint(std::string_view text);

// `code_point` is no surrogate and at most U+10FFFF.
void AppendUtf8(char32_t code_point, std::string* text);

// Whether the byte belongs to a code point that begins before it.
bool IsContinuation(char byte);

// Whether all of `text` is well-formed, as a string of proto3 must be.
bool IsUtf8(std::string_view text);

// Whether `text` is empty or made of white space alone (Unicode's White_Space
// property), so that there is nothing to translate.
bool IsBlank(std::string_view text);

// Bytes of `text` in front of a code point that its end cuts off, which more
// bytes may complete; the size of `text` if there is none.
size_t WholeSize(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_BASE_UTF8_H_
