#include "model/tokenizer/utf8.h"

namespace trivium {
namespace {

bool Continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Of the `length` bytes of a character whose form is right.
uint32_t CodePoint(std::string_view bytes) {
  const uint8_t first = static_cast<uint8_t>(bytes[0]);
  if (bytes.size() == 1) return first;
  uint32_t code = first & (0x7F >> bytes.size());
  for (const char byte : bytes.substr(1)) {
    code = (code << 6) | (static_cast<uint8_t>(byte) & 0x3F);
  }
  return code;
}

}  // namespace

size_t Utf8LengthFromFirstByte(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return 2;
  if ((byte & 0xF0) == 0xE0) return 3;
  if (byte >= 0xF0 && byte <= 0xF4) return 4;
  return 1;
}

size_t Utf8Length(std::string_view text, size_t at) {
  const size_t length = Utf8LengthFromFirstByte(static_cast<uint8_t>(text[at]));
  if (length == 1 || at + length > text.size()) return 1;
  const std::string_view bytes = text.substr(at, length);
  for (const char byte : bytes.substr(1)) {
    if (!Continues(static_cast<uint8_t>(byte))) return 1;
  }
  const uint32_t code = CodePoint(bytes);
  const bool overlong =
      (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 1 : length;
}

std::vector<int> CharacterOfByte(std::string_view text) {
  std::vector<int> characters(text.size() + 1);
  int count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const size_t end = at + Utf8Length(text, at);
    for (; at < end; ++at) characters[at] = count;
  }
  characters[text.size()] = count;
  return characters;
}

bool IsPythonSpace(std::string_view character) {
  const uint32_t code = CodePoint(character);
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) ||
         code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

}  // namespace trivium
