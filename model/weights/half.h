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

// Rounds f32 to the nearest f16, ties to even; too large numbers become
// infinite. The bits of a sum with 0.5, whose last bit is worth 2^-24, are
// those of a subnormal f16.
inline uint16_t F32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // 65536 or more
  if (magnitude < 0x38800000u) {  // subnormal: multiples of 2^-24
    const float moved = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(moved));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return sign |
         static_cast<uint16_t>((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

// Rounds f32 to the nearest bf16, ties to even.
inline uint16_t F32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<uint16_t>(bits >> 16 | 0x40u);  // NaN
  }
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

inline float Bf16ToF32(uint16_t half) {
  return std::bit_cast<float>(uint32_t{half} << 16);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_HALF_H_
