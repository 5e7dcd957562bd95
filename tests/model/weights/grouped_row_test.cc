#include "model/weights/grouped_row.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/weights/gguf_blocks.h"
#include "model/weights/half.h"
#include "model/weights/weights.h"
#include "tests/support/grouped_numbers.h"

namespace trivium {
namespace {

// Random blocks whose scales are numbers.
std::vector<std::byte> RandomBlocks(const BlockFormat& format, int blocks,
                                    std::mt19937* random) {
  std::vector<std::byte> bytes(static_cast<size_t>(blocks) * format.bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((*random)());
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < 2; ++i) {  // d, and m or numbers
      bytes[block * format.bytes + 2 * i + 1] &= std::byte{0x3b};
    }
  }
  return bytes;
}

TEST(GroupedRowTest, HasTheNumbersOfTheFile) {
  std::mt19937 random(7);
  for (const DType dtype :
       {DType::kQ4_0, DType::kQ4_1, DType::kQ4K, DType::kIq4Nl, DType::kIq4Xs,
        DType::kMxfp4, DType::kQ8_0}) {
    const BlockFormat& format = *FindBlockFormat(dtype);
    constexpr int kRows = 5, kWidth = 512;
    const std::vector<std::byte> bytes =
        RandomBlocks(format, kRows * kWidth / format.elements, &random);
    const TensorView tensor = {dtype, {kRows, kWidth}, bytes};
    ASSERT_TRUE(GroupFormOf(tensor).has_value());
    for (int row = 0; row < kRows; ++row) {
      GroupedRow groups;
      ReadGroups(tensor, row, std::span(&groups, 1));
      std::vector<float> expected(kWidth);
      CopyToF32(tensor, row * kWidth, expected);
      EXPECT_EQ(NumbersOf(groups), expected) << DTypeName(dtype);
    }
  }
}

TEST(GroupedRowTest, OtherTypesHaveNoForm) {
  for (const DType dtype :
       {DType::kF32, DType::kBf16, DType::kQ6K, DType::kQ5_0, DType::kQ3K,
        DType::kIq2S, DType::kNvfp4}) {
    EXPECT_FALSE(GroupFormOf({dtype, {2, 256}, {}}).has_value());
  }
}

TEST(GroupedRowTest, RoundsWithinTheStepOfAGroup) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  std::vector<float> row(100);
  for (float& value : row) value = 0.05f * normal(random);
  GroupedRow groups;
  RoundToGroups(row, GroupForm::kScale8, &groups);
  ASSERT_EQ(groups.numbers.size(), 128u);
  double error = 0, size = 0;
  std::vector<float> numbers = NumbersOf(groups);
  for (size_t i = 0; i < row.size(); ++i) {
    const float step = F16ToF32(groups.scales[i / kGroupNumbers]);
    EXPECT_NEAR(numbers[i], row[i], 0.6f * step);
  }
  for (size_t i = row.size(); i < numbers.size(); ++i) EXPECT_EQ(numbers[i], 0);
  RoundToGroups(row, GroupForm::kScale4, &groups);
  numbers = NumbersOf(groups);
  for (size_t i = 0; i < row.size(); ++i) {
    error += std::pow(numbers[i] - row[i], 2);
    size += std::pow(row[i], 2);
  }
  // Four bits for 32 normal numbers leave about 0.6 % of their squares.
  EXPECT_LT(error / size, 0.012);
  EXPECT_GT(error, 0);
}

TEST(GroupedRowTest, ZerosAndGreatNumbersAreRounded) {
  std::vector<float> row(32, 0.0f);
  GroupedRow groups;
  for (const GroupForm form : {GroupForm::kScale4, GroupForm::kScale8}) {
    RoundToGroups(row, form, &groups);
    for (const float number : NumbersOf(groups)) EXPECT_EQ(number, 0);
    RoundToGroups(std::vector<float>(32, 3e38f), form, &groups);
    for (const float number : NumbersOf(groups)) {
      EXPECT_TRUE(std::isfinite(number));
      EXPECT_GT(number, 100000);
    }
  }
}

}  // namespace
}  // namespace trivium
