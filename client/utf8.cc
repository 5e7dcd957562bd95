#include "client/utf8.h"

#include <cstdint>

namespace trivium {
namespace {

struct Lead {
  int continuations;
  // Bounds of the first continuation byte: no overlong forms, no surrogates,
  // nothing past U+10FFFF.
  uint8_t low, high;
};

// continuations is -1 for a byte that begins nothing.
Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {0, 0, 0};
  if (byte < 0xC2) return {-1, 0, 0};
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte < 0xF4) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {-1, 0, 0};
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    const Lead lead = LeadOf(static_cast<uint8_t>(bytes[i++]));
    if (lead.continuations < 0) return false;
    for (int k = 0; k < lead.continuations; ++k, ++i) {
      if (i == bytes.size()) return false;
      const uint8_t byte = static_cast<uint8_t>(bytes[i]);
      const uint8_t low = k == 0 ? lead.low : 0x80;
      const uint8_t high = k == 0 ? lead.high : 0xBF;
      if (byte < low || byte > high) return false;
    }
  }
  return true;
}

}  // namespace trivium
