#include "model/kernels/max_sim.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

using RowValues = std::vector<float>;

// The slow counterpart: the order of RowProduct's sums, in plain loops.
float SlowProduct(const float* a, const float* b, int size) {
  float sums[8] = {};
  int i = 0;
  for (; i + 8 <= size; i += 8) {
    for (int k = 0; k < 8; ++k) {
      const float product = a[i + k] * b[i + k];
      sums[k] += product;
    }
  }
  float rest = 0;
  for (; i < size; ++i) {
    const float product = a[i] * b[i];
    rest += product;
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
         ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest;
}

double SlowMaxSim(const RowValues& query, const RowValues& document, int size) {
  double sum = 0;
  for (size_t i = 0; i < query.size(); i += size) {
    float best = SlowProduct(&query[i], &document[0], size);
    for (size_t j = size; j < document.size(); j += size) {
      best = std::max(best, SlowProduct(&query[i], &document[j], size));
    }
    sum += best;
  }
  return sum;
}

RowValues RandomValues(int rows, int size, float scale,
                       std::mt19937* generator) {
  std::normal_distribution<float> normal;
  RowValues values(static_cast<size_t>(rows) * size);
  for (float& value : values) value = scale * normal(*generator);
  return values;
}

double Compare(const RowValues& query, const RowValues& document, int size) {
  return MaxSimQuery(query.data(), static_cast<int>(query.size()) / size, size)
      .Compare(document.data(), static_cast<int>(document.size()) / size);
}

TEST(MaxSimTest, HasTheBitsOfEveryProductForEveryShape) {
  std::mt19937 generator(1);
  for (const int size : {1, 3, 4, 7, 8, 17, 63, 64, 65, 128, 384, 1000}) {
    // From 65 on, the sums of the columns do not fit into one block.
    for (const int query_rows : {1, 2, 15, 16, 17, 32, 40, 64, 65, 150}) {
      const RowValues query = RandomValues(query_rows, size, 1, &generator);
      for (const int rows : {1, 3, 4, 11, 12, 13, 29, 180}) {
        const RowValues document = RandomValues(rows, size, 0.3f, &generator);
        ASSERT_EQ(Compare(query, document, size),
                  SlowMaxSim(query, document, size))
            << "size " << size << " query " << query_rows << " rows " << rows;
      }
    }
  }
}

// Rows that differ by less than a step of eight bits: the exact products
// decide.
TEST(MaxSimTest, TellsRowsApartThatRoundToTheSameBytes) {
  std::mt19937 generator(2);
  constexpr int kSize = 128;
  const RowValues query = RandomValues(32, kSize, 1, &generator);
  const RowValues row = RandomValues(1, kSize, 1, &generator);
  for (const float distance : {0.0f, 1e-7f, 1e-5f, 1e-3f}) {
    RowValues document = RandomValues(100, kSize, distance, &generator);
    for (size_t i = 0; i < document.size(); ++i) document[i] += row[i % kSize];
    EXPECT_EQ(Compare(query, document, kSize),
              SlowMaxSim(query, document, kSize))
        << distance;
  }
}

// Rows of very different lengths, of which the steps of eight bits show only
// the longest.
TEST(MaxSimTest, LongRowsDoNotHideShortOnes) {
  std::mt19937 generator(3);
  constexpr int kSize = 96;
  const RowValues query = RandomValues(20, kSize, 1, &generator);
  RowValues document = RandomValues(60, kSize, 1e-4f, &generator);
  for (int k = 0; k < kSize; ++k) document[k] = -1000 * query[k];
  EXPECT_EQ(Compare(query, document, kSize),
            SlowMaxSim(query, document, kSize));
}

TEST(MaxSimTest, UnusualNumbersAreComparedPlainly) {
  std::mt19937 generator(4);
  constexpr int kSize = 32;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const RowValues usual = RandomValues(20, kSize, 1, &generator);
  for (const float unusual :
       {0.0f, 1e-30f, 1e-42f, 1e20f, 3e38f, kInfinity, -kInfinity}) {
    for (const bool whole_row : {false, true}) {
      RowValues other = usual;
      std::fill_n(other.begin() + kSize, whole_row ? kSize : 1, unusual);
      for (const auto& [query, document] :
           {std::pair(usual, other), std::pair(other, usual)}) {
        const double expected = SlowMaxSim(query, document, kSize);
        const double got = Compare(query, document, kSize);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(got)) << unusual;
        } else {
          EXPECT_EQ(got, expected) << unusual;
        }
      }
    }
  }
  RowValues other = usual;
  other[3] = std::numeric_limits<float>::quiet_NaN();
  const double with_nan = SlowMaxSim(usual, other, kSize);
  EXPECT_EQ(std::isnan(Compare(usual, other, kSize)), std::isnan(with_nan));
  Compare(other, usual, kSize);
  const RowValues zeros(usual.size(), 0.0f);
  EXPECT_EQ(Compare(usual, zeros, kSize), 0);
  EXPECT_EQ(Compare(zeros, usual, kSize), 0);
}

TEST(MaxSimTest, NoRowsAreZero) {
  const RowValues row = {1, 2, 3, 4};
  EXPECT_EQ(MaxSimQuery(row.data(), 0, 4).Compare(row.data(), 1), 0);
  EXPECT_EQ(MaxSimQuery(row.data(), 1, 4).Compare(row.data(), 0), 0);
  EXPECT_EQ(MaxSimQuery(row.data(), 1, 4).Compare(row.data(), 1), 30);
}

}  // namespace
}  // namespace trivium
