#ifndef TRIVIUM_MODEL_WEIGHTS_FOUR_BIT_ROUNDING_H_
#define TRIVIUM_MODEL_WEIGHTS_FOUR_BIT_ROUNDING_H_

#include <cstdint>
#include <span>

namespace trivium {

// The types of scales that RoundTo4Bits finds. Numbers of kBf16 are exact in
// f16, too.
enum class ScaleType { kF16, kBf16 };
// The most numbers that RoundTo4Bits gives one scale.
inline constexpr int kMostNumbers = 128;

// Rounds up to kMostNumbers numbers x to scale * (q - 8), 0 <= q < 16. Returns
// the scale, which may be negative: the one of several with the least sum of
// squared errors. What f16 cannot hold becomes the greatest that it can.
float RoundTo4Bits(std::span<const float> x, ScaleType type, uint8_t* q);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_FOUR_BIT_ROUNDING_H_
