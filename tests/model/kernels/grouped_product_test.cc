#include "model/kernels/grouped_product.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/weights/half.h"

namespace trivium {
namespace {

constexpr int kOperandRows = 13;

// A row of x as the product reads it, taken apart.
struct GroupedOperandRow {
  std::vector<int8_t> bytes;
  std::vector<float> scales, scaled_sums;
  std::vector<int32_t> sums;
};

GroupedOperandRow TakeApart(const char* row, int k) {
  const int groups = GroupsOf(k);
  GroupedOperandRow parts;
  parts.bytes.resize(static_cast<size_t>(groups) * kGroupNumbers);
  parts.scales.resize(groups);
  parts.scaled_sums.resize(groups);
  parts.sums.resize(groups);
  std::memcpy(parts.bytes.data(), row, parts.bytes.size());
  row += parts.bytes.size();
  std::memcpy(parts.scales.data(), row, 4 * groups);
  std::memcpy(parts.scaled_sums.data(), row + 4 * groups, 4 * groups);
  std::memcpy(parts.sums.data(), row + 8 * groups, 4 * groups);
  return parts;
}

GroupedRow RandomGroups(GroupForm form, int k, std::mt19937* random) {
  GroupedRow row;
  row.form = form;
  const int groups = GroupsOf(k);
  const auto number = [&](int most) {
    return static_cast<uint8_t>((*random)() % (most + 1));
  };
  const auto scale = [&] {
    std::normal_distribution<float> normal;
    return F32ToF16(0.02f * normal(*random));
  };
  for (int i = 0; i < groups * kGroupNumbers; ++i) {
    row.numbers.push_back(number(HasFourBits(form) ? 15 : 255));
  }
  for (int group = 0; group < groups; ++group) {
    if (form == GroupForm::kZero4) row.zeros.push_back(number(15));
    if (form == GroupForm::kFp4) {
      row.part_scales.push_back(118 + number(8));
      continue;
    }
    if (HasParts(form)) row.part_scales.push_back(number(63));
    if (form == GroupForm::kParts4) row.part_minimums.push_back(number(63));
    if (HasParts(form) && group % kPartsOfBlock != 0) continue;
    row.scales.push_back(scale());
    if (form == GroupForm::kMinimum4 || form == GroupForm::kParts4) {
      row.minimums.push_back(scale());
    }
  }
  return row;
}

// The formula of grouped_product.h, in the order that it promises.
float Product(const GroupedOperandRow& x, const GroupedRow& w) {
  float y = 0;
  for (size_t group = 0; group < x.scales.size(); ++group) {
    const bool minimums = !w.minimums.empty() || !w.zeros.empty();
    const bool fp4 = w.form == GroupForm::kFp4;
    const bool table = fp4 || w.form == GroupForm::kCurve4 ||
                       w.form == GroupForm::kCurveParts4;
    const int zero = minimums || table ? 0 : HasFourBits(w.form) ? 8 : 128;
    int32_t sum = -zero * x.sums[group];
    for (int i = 0; i < kGroupNumbers; ++i) {
      const size_t at = group * kGroupNumbers + i;
      const int q = w.numbers[at];
      sum += x.bytes[at] * (fp4     ? kFp4Numbers[q]
                            : table ? kCurve4Numbers[q]
                                    : q);
    }
    const bool parts = w.form == GroupForm::kParts4;
    const size_t of_scale = HasParts(w.form) ? group / kPartsOfBlock : group;
    float scale = fp4 ? std::ldexp(1.0f, w.part_scales[group] - 128)
                      : F16ToF32(w.scales[of_scale]);
    if (parts) scale *= static_cast<float>(w.part_scales[group]);
    if (w.form == GroupForm::kCurveParts4) {
      scale *= static_cast<float>(w.part_scales[group] - 32);
    }
    y = std::fma(static_cast<float>(sum) * x.scales[group], scale, y);
    if (!minimums) continue;
    float minimum = w.zeros.empty()
                        ? F16ToF32(w.minimums[of_scale])
                        : -(scale * static_cast<float>(w.zeros[group]));
    if (parts)
      minimum = -(minimum * static_cast<float>(w.part_minimums[group]));
    y = std::fma(x.scaled_sums[group], minimum, y);
  }
  return y;
}

TEST(GroupedProductTest, EveryFormAndRowHasTheBitsOfTheFormula) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const int k : {20, 32, 33, 256, 768}) {
    std::vector<char> x(kOperandRows * GroupedOperandBytes(k));
    std::vector<GroupedOperandRow> operands;
    std::vector<float> values(k);
    for (int row = 0; row < kOperandRows; ++row) {
      for (float& value : values) value = normal(random);
      char* const to = x.data() + row * GroupedOperandBytes(k);
      QuantizeGroups(values.data(), k, to);
      operands.push_back(TakeApart(to, k));
    }
    for (const int n : {1, 30, 64, 65, 200}) {
      // Forms change from block to block.
      std::vector<GroupForm> forms((n + 63) / 64);
      for (GroupForm& form : forms) {
        do {
          form = kGroupForms[random() % std::size(kGroupForms)];
        } while (HasParts(form) && k % 256 != 0);
      }
      GroupedWeights weights(n, k, forms);
      std::vector<GroupedRow> columns;
      for (int i = 0; i < n; ++i) {
        columns.push_back(RandomGroups(weights.form(i), k, &random));
        weights.Set(i, columns.back());
      }
      for (int rows = 1; rows <= kOperandRows; ++rows) {
        std::vector<float> y(static_cast<size_t>(rows) * n, NAN);
        weights.Multiply(x.data(), GroupedOperandBytes(k), rows, 0, n,
                         y.data());
        for (int row = 0; row < rows; ++row) {
          for (int i = 0; i < n; ++i) {
            ASSERT_EQ(y[row * n + i], Product(operands[row], columns[i]))
                << "k " << k << " n " << n << " rows " << rows << " row " << row
                << " column " << i << " form "
                << static_cast<int>(weights.form(i));
          }
        }
      }
      if (n <= 64) continue;
      std::vector<float> part(n, -1.0f);
      weights.Multiply(x.data(), GroupedOperandBytes(k), 1, 64, n, part.data());
      EXPECT_EQ(part[63], -1.0f);
      EXPECT_EQ(part[64], Product(operands[0], columns[64]));
    }
  }
}

TEST(GroupedProductTest, WeightsAreReadBackAsTheyWerePacked) {
  std::mt19937 random(4);
  constexpr int kWidth = 512;
  for (const GroupForm form : kGroupForms) {
    GroupedWeights weights(70, kWidth, {form, form});
    const GroupedRow row = RandomGroups(form, kWidth, &random);
    weights.Set(66, row);
    std::vector<float> w(kWidth);
    weights.Get(66, w.data());
    for (int i = 0; i < kWidth; ++i) {
      // A row that is 1 at i alone has one number, 127, whose scale is 1 / 127.
      std::vector<float> x(kWidth);
      x[i] = 127;
      std::vector<char> operand(GroupedOperandBytes(kWidth));
      QuantizeGroups(x.data(), kWidth, operand.data());
      EXPECT_NEAR(w[i] * 127, Product(TakeApart(operand.data(), kWidth), row),
                  2e-5 * std::fabs(w[i] * 127) + 1e-4);
    }
  }
}

TEST(GroupedProductTest, SumsOfTheGreatestNumbersDoNotOverflow) {
  constexpr int kWidth = 256;
  for (const GroupForm form : kGroupForms) {
    std::mt19937 random(7);
    GroupedRow row = RandomGroups(form, kWidth, &random);
    for (const uint8_t q : {0, 7, 15, 255}) {
      if (HasFourBits(form) && q > 15) continue;
      std::fill(row.numbers.begin(), row.numbers.end(), q);
      GroupedWeights weights(1, kWidth, {form});
      weights.Set(0, row);
      for (const float value : {1.0f, -1.0f}) {
        const std::vector<float> x(kWidth, value);
        std::vector<char> operand(GroupedOperandBytes(kWidth));
        QuantizeGroups(x.data(), kWidth, operand.data());
        float y = 0;
        weights.Multiply(operand.data(), operand.size(), 1, 0, 1, &y);
        EXPECT_EQ(y, Product(TakeApart(operand.data(), kWidth), row))
            << static_cast<int>(form) << " " << int{q};
      }
    }
  }
}

TEST(GroupedProductTest, OperandsAreTheNearestBytes) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  constexpr int kWidth = 77;
  std::vector<float> x(kWidth);
  for (float& value : x) value = normal(random);
  std::vector<char> row(GroupedOperandBytes(kWidth));
  QuantizeGroups(x.data(), kWidth, row.data());
  const GroupedOperandRow parts = TakeApart(row.data(), kWidth);
  for (int group = 0; group < GroupsOf(kWidth); ++group) {
    int32_t sum = 0;
    for (int i = 0; i < kGroupNumbers; ++i) {
      const int at = group * kGroupNumbers + i;
      const float value = at < kWidth ? x[at] : 0;
      EXPECT_NEAR(parts.bytes[at] * parts.scales[group], value,
                  0.51f * parts.scales[group]);
      sum += parts.bytes[at];
    }
    EXPECT_EQ(parts.sums[group], sum);
    EXPECT_EQ(parts.scaled_sums[group],
              parts.scales[group] * static_cast<float>(sum));
  }
}

TEST(GroupedProductTest, ValuesThatAreNotFiniteAreNotLost) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> x(64, 1.0f);
    x[40] = bad;
    std::vector<char> operand(GroupedOperandBytes(64));
    QuantizeGroups(x.data(), 64, operand.data());
    GroupedWeights weights(1, 64, {GroupForm::kScale4});
    std::mt19937 random(6);
    weights.Set(0, RandomGroups(GroupForm::kScale4, 64, &random));
    float y = 0;
    weights.Multiply(operand.data(), operand.size(), 1, 0, 1, &y);
    EXPECT_FALSE(std::isfinite(y)) << bad;
  }
}

}  // namespace
}  // namespace trivium
