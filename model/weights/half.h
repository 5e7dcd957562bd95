#ifndef TRIVIUM_MODEL_WEIGHTS_HALF_H_
#define TRIVIUM_MODEL_WEIGHTS_HALF_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace trivium {

inline uint16_t Load16(const std::byte* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Converts f16 to f32. Exponent and mantissa are shifted to their places in an
// f32, whose exponent is then 112 too small; the multiplication that corrects
// it is exact, for subnormal numbers, too.
inline float F16ToF32(uint16_t half) {
  constexpr float kExponentShift = 0x1p112f;
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const bool special = (half & 0x7c00u) == 0x7c00u;  // infinity or NaN
  const float scaled = std::bit_cast<float>(magnitude) * kExponentShift;
  const uint32_t bits =
      special ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_HALF_H_
