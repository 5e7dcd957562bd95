#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "model/weights/packed_rows.h"
#include "model/weights/weights.h"

namespace trivium {
namespace {

// Converts IEEE 754 half precision by its definition.
float ReferenceF16(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(DTypeTest, EveryF16IsExact) {
  std::vector<uint16_t> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = i;
  const TensorView tensor{
      DType::kF16, {1 << 16}, std::as_bytes(std::span(halves))};
  std::vector<float> values(halves.size());
  CopyToF32(tensor, 0, values);
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = ReferenceF16(halves[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(values[i]),
                std::bit_cast<uint32_t>(expected))
          << i;
    }
  }
}

TEST(DTypeTest, CopiesPartsOfUnalignedTensors) {
  // One byte before the data, so that no element is aligned.
  const float numbers[] = {1.5f, -2.0f, 0.25f};
  std::vector<std::byte> bytes(1);
  for (const float number : numbers) {
    const auto raw = std::as_bytes(std::span(&number, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  const TensorView f32{DType::kF32, {3}, std::span(bytes).subspan(1)};
  std::vector<float> two(2);
  CopyToF32(f32, 1, two);
  EXPECT_THAT(two, testing::ElementsAre(-2.0f, 0.25f));
  CopyToF32(f32, 3, std::span<float>());

  // bf16 is the upper half of an f32.
  std::vector<std::byte> upper(1);
  for (int i = 0; i < 3; ++i) {
    upper.push_back(bytes[1 + 4 * i + 2]);
    upper.push_back(bytes[1 + 4 * i + 3]);
  }
  const TensorView bf16{DType::kBf16, {3}, std::span(upper).subspan(1)};
  std::vector<float> three(3);
  CopyToF32(bf16, 0, three);
  EXPECT_THAT(three, testing::ElementsAre(1.5f, -2.0f, 0.25f));
}

template <class Bits>
TensorView ViewOf(DType dtype, const std::vector<Bits>& values) {
  return {dtype,
          {static_cast<int64_t>(values.size())},
          std::as_bytes(std::span(values))};
}

// It is found everywhere: within a block, at a border, in the rest.
TEST(DTypeTest, FindsInfiniteAndNaNElements) {
  for (const size_t size : {1, 1023, 1024, 1025, 3000}) {
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      // The greatest finite numbers of either sign.
      std::vector<float> f32(size, -3.4028235e38f);
      std::vector<uint16_t> f16(size, 0x7bff), bf16(size, 0xff7f);
      EXPECT_EQ(FirstNotFinite(ViewOf(DType::kF32, f32)), std::nullopt);
      EXPECT_EQ(FirstNotFinite(ViewOf(DType::kF16, f16)), std::nullopt);
      EXPECT_EQ(FirstNotFinite(ViewOf(DType::kBf16, bf16)), std::nullopt);
      f32[at] = NAN;
      f16[at] = 0xfc00;  // -infinity
      bf16[at] = 0x7f81;
      EXPECT_EQ(FirstNotFinite(ViewOf(DType::kF32, f32)), at);
      EXPECT_EQ(FirstNotFinite(ViewOf(DType::kF16, f16)), at);
      EXPECT_EQ(FirstNotFinite(ViewOf(DType::kBf16, bf16)), at);
    }
  }
}

TEST(DTypeTest, FindsTheFirstElementOfManyThreads) {
  std::vector<uint16_t> values(5'000'001, 0x3c00);
  for (const size_t at :
       {size_t{4'999'999}, size_t{2'600'000}, size_t{262'144}, size_t{3}}) {
    values[at] = 0x7c00;
    EXPECT_EQ(FirstNotFinite(ViewOf(DType::kF16, values)), at);
  }
}

TEST(DTypeTest, AMatrixWithoutNumbersIsFinite) {
  class NoColumns : public PackedRows {
   public:
    NoColumns() : PackedRows(0) {}

   private:
    void UnpackRows(int64_t, int64_t, float*) const override {}
  };
  TensorView tensor{DType::kF32, {3, 0}, {}};
  EXPECT_EQ(FirstNotFinite(tensor), std::nullopt);
  const NoColumns packed;
  tensor.packed = &packed;
  EXPECT_EQ(FirstNotFinite(tensor), std::nullopt);
}

}  // namespace
}  // namespace trivium
