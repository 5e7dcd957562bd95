#include "model/weights/quantized/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trivium {
namespace {

// The nearest number of f16 by trying: the two around `value` are found by
// halving all finite ones, which are in order.
float NearestHalf(float value) {
  const float magnitude = std::fabs(value);
  uint16_t low = 0, high = 0x7c00;  // infinity, as if it were 65536
  const auto number = [](uint16_t half) {
    return half == 0x7c00 ? 65536.0f : F16ToF32(half);
  };
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (number(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - double{number(low)};
  const double above = double{number(high)} - magnitude;
  const bool up = below > above || (below == above && low % 2 == 1);
  return std::copysign(F16ToF32(up ? high : low), value);
}

TEST(QuantizedNumbersTest, RoundToTheNearestHalf) {
  for (uint32_t bits = 0; bits < 0x47900000u; bits += 997) {
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(F16ToF32(F32ToF16(value)), NearestHalf(value)) << value;
    ASSERT_EQ(F16ToF32(F32ToF16(-value)), NearestHalf(-value)) << -value;
  }
  // Numbers of f16, their neighbours in f32 and the middles between them.
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const float value = F16ToF32(static_cast<uint16_t>(half));
    ASSERT_EQ(F32ToF16(value), half);
    const float middle =
        half == 0x7bff
            ? 65520.0f
            : (value + F16ToF32(static_cast<uint16_t>(half + 1))) / 2;
    for (const float near :
         {middle, std::nextafterf(middle, 0), std::nextafterf(middle, 1e9f)}) {
      ASSERT_EQ(F16ToF32(F32ToF16(near)), NearestHalf(near)) << near;
    }
  }
  EXPECT_EQ(F32ToF16(1e30f), 0x7c00);
  EXPECT_EQ(F32ToF16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_TRUE(std::isnan(F16ToF32(F32ToF16(std::nanf("")))));
}

TEST(QuantizedNumbersTest, RoundToTheNearestBf16) {
  for (uint32_t bits = 0; bits < 0x7f000000u; bits += 99'991) {
    const float value = std::bit_cast<float>(bits);
    const float low = Bf16ToF32(static_cast<uint16_t>(bits >> 16));
    const float high = Bf16ToF32(static_cast<uint16_t>((bits >> 16) + 1));
    const double below = double{value} - low, above = double{high} - value;
    const bool up = below > above || (below == above && (bits >> 16) % 2 == 1);
    ASSERT_EQ(Bf16ToF32(F32ToBf16(value)), up ? high : low) << value;
  }
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(std::nanf("")))));
  EXPECT_EQ(Bf16ToF32(F32ToBf16(-1.5f)), -1.5f);
}

TEST(QuantizedNumbersTest, EightBitFloatsAreThoseOfTheirStandards) {
  for (int bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<uint8_t>(bits);
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    const double magnitude = exponent == 0
                                 ? std::ldexp(mantissa, -9)
                                 : std::ldexp(8 + mantissa, exponent - 10);
    const float value = F8E4m3ToF32(byte);
    if (exponent == 15 && mantissa == 7) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(value, bits < 128 ? magnitude : -magnitude) << bits;
      EXPECT_EQ(std::signbit(value), bits >= 128);
    }
    if (bits < 255) {
      EXPECT_EQ(F8E8m0ToF32(byte), std::ldexp(1.0, bits - 127)) << bits;
    }
  }
  EXPECT_FALSE(std::isfinite(F8E8m0ToF32(255)));
}

// A table gives what the formula gives.
TEST(QuantizedNumbersTest, TabulatedValuesAreThoseOfTheFormula) {
  CodeValues tabulated(DType::kF16, 4, 3, 48), single(DType::kF16, 4, 3, 47);
  for (CodeValues* values : {&tabulated, &single}) {
    for (int group = 0; group < 3; ++group) {
      values->SetGroup(group, 0.3f + static_cast<float>(group), 5 * group);
    }
    for (int group = 0; group < 3; ++group) {
      for (int code = 0; code < 16; ++code) {
        const float product = (0.3f + static_cast<float>(group)) *
                              static_cast<float>(code - 5 * group);
        EXPECT_EQ(values->Get(group, code), NearestHalf(product));
      }
    }
  }
}

}  // namespace
}  // namespace trivium
