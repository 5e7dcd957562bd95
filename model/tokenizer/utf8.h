#ifndef TRIVIUM_MODEL_TOKENIZER_UTF8_H_
#define TRIVIUM_MODEL_TOKENIZER_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace trivium {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// Bytes of the character at `text[at]`: 1 to 4; 1 where there is no valid one.
size_t Utf8Length(std::string_view text, size_t at);

// Bytes that a character with this first byte has: 1 to 4; 1 for a byte that
// begins none.
size_t Utf8LengthFromFirstByte(uint8_t byte);

// [text.size() + 1] The number of the character that a byte belongs to, and in
// the end the number of characters.
std::vector<int> CharacterOfByte(std::string_view text);

// Whether a whole valid character is white space to Python's str.strip.
bool IsPythonSpace(std::string_view character);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_UTF8_H_
