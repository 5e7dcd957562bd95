#include "server/rpc/utf8.h"

#include <cstddef>
#include <cstdint>

namespace trivium {
namespace {

// The code point at the start of `text` and its length; length 0 where the
// bytes are malformed.
struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;
};

CodePoint First(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  uint32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

bool IsSpace(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = First(text);
    if (first.length == 0) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

bool IsBlank(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = First(text);
    if (first.length == 0 || !IsSpace(first.value)) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

}  // namespace trivium
