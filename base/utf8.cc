#include "base/utf8.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace trivium {
namespace {

const uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

}  // namespace

CodePoint FirstCodePoint(std::string_view text) {
  const int32_t size =
      static_cast<int32_t>(std::min<size_t>(text.size(), U8_MAX_LENGTH));
  int32_t end = 0;
  UChar32 value;
  U8_NEXT(BytesOf(text), end, size, value);
  if (value < 0) return {};
  return {static_cast<char32_t>(value), static_cast<uint8_t>(end), true};
}

void AppendUtf8(char32_t code_point, std::string* text) {
  uint8_t bytes[U8_MAX_LENGTH];
  size_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, code_point);
  text->append(bytes, bytes + size);
}

bool IsContinuation(char byte) {
  return U8_IS_TRAIL(static_cast<uint8_t>(byte));
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!first.well_formed) return false;
    text.remove_prefix(first.size);
  }
  return true;
}

bool IsBlank(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    // U+FFFD is not white space.
    if (!u_isUWhiteSpace(static_cast<UChar32>(first.value))) return false;
    text.remove_prefix(first.size);
  }
  return true;
}

size_t WholeSize(std::string_view text) {
  int64_t size = static_cast<int64_t>(text.size());
  U8_TRUNCATE_IF_INCOMPLETE(BytesOf(text), 0, size);
  return static_cast<size_t>(size);
}

}  // namespace trivium
