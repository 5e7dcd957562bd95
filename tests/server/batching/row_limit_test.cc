#include "server/batching/row_limit.h"

#include <functional>
#include <random>
#include <set>

#include "gtest/gtest.h"

namespace trivium {
namespace {

// Returns the seconds of a step of so many rows.
using Cost = std::function<double(int rows)>;

// Reading the weights takes 1 ms, and each row 50 us.
double MoreIsCheaper(int rows) { return 1e-3 + 50e-6 * rows; }

// The same, but rows beyond a cache of 32 rows cost twice as much.
double CacheOf32(int rows) {
  return MoreIsCheaper(rows) + 50e-6 * std::max(0, rows - 32);
}

// Runs full steps. Returns the mean seconds of a row.
double Drive(RowLimit* limit, int steps, const Cost& cost, double noise = 0) {
  double seconds = 0;
  int64_t rows = 0;
  std::mt19937 generator(1);
  for (int i = 0; i < steps; ++i) {
    const double factor = 1 + noise * (generator() / 2147483648.0 - 1);
    const double step = cost(limit->rows()) * factor;
    seconds += step;
    rows += limit->rows();
    limit->Joined();
    limit->Refused();
    limit->Observe(limit->rows(), step);
  }
  return seconds / static_cast<double>(rows);
}

TEST(RowLimitTest, MovesToTheCheapestLevel) {
  RowLimit limit(256);
  Drive(&limit, 2000, MoreIsCheaper);
  EXPECT_GE(limit.rows(), 192);
  EXPECT_LE(Drive(&limit, 20000, MoreIsCheaper),
            1.02 * MoreIsCheaper(256) / 256);

  RowLimit small(256);
  Drive(&small, 2000, CacheOf32);
  EXPECT_GE(small.rows(), 24);
  EXPECT_LE(small.rows(), 48);
  EXPECT_LE(Drive(&small, 20000, CacheOf32), 1.02 * CacheOf32(32) / 32);
}

TEST(RowLimitTest, JudgesALevelAfterAWindowOfSteps) {
  RowLimit limit(256);
  const int begin = limit.rows();
  Drive(&limit, 31, MoreIsCheaper);
  EXPECT_EQ(limit.rows(), begin);
  Drive(&limit, 1, MoreIsCheaper);
  EXPECT_NE(limit.rows(), begin);
}

TEST(RowLimitTest, ToleratesNoise) {
  RowLimit limit(256), small(256);
  Drive(&limit, 3000, MoreIsCheaper, 0.3);
  EXPECT_LE(Drive(&limit, 20000, MoreIsCheaper, 0.3),
            1.04 * MoreIsCheaper(256) / 256);
  Drive(&small, 3000, CacheOf32, 0.3);
  EXPECT_LE(Drive(&small, 20000, CacheOf32, 0.3), 1.04 * CacheOf32(32) / 32);
}

TEST(RowLimitTest, FollowsTheWork) {
  RowLimit limit(256);
  Drive(&limit, 4000, CacheOf32);
  EXPECT_LE(limit.rows(), 48);
  Drive(&limit, 10000, MoreIsCheaper);
  EXPECT_GE(limit.rows(), 128);
}

TEST(RowLimitTest, OnlyFullStepsCount) {
  RowLimit limit(256);
  const int begin = limit.rows();
  for (int i = 0; i < 10000; ++i) {
    limit.Joined();
    limit.Observe(begin, 1);  // nobody waits
    limit.Refused();
    limit.Observe(0, 1);  // only encodes
  }
  EXPECT_EQ(limit.rows(), begin);
}

TEST(RowLimitTest, StepsUnderAnotherLimitDoNotCount) {
  RowLimit limit(256);
  const int begin = limit.rows();
  while (limit.rows() == begin) Drive(&limit, 1, MoreIsCheaper);
  const int moved = limit.rows();
  for (int i = 0; i < 10000; ++i) {
    limit.Refused();
    limit.Observe(begin, 1);
  }
  EXPECT_EQ(limit.rows(), moved);
}

// Holds even if wide requests leave many rows of the limit empty.
TEST(RowLimitTest, StepsOfWideRequestsCount) {
  constexpr int kWidth = 40;
  RowLimit limit(256);
  for (int i = 0; i < 2000; ++i) {
    limit.Joined();
    limit.Refused();
    const int rows = limit.rows() / kWidth * kWidth;
    limit.Observe(rows, MoreIsCheaper(rows));
  }
  EXPECT_GE(limit.rows(), 192);
}

TEST(RowLimitTest, StaysWithinItsBounds) {
  for (const int most : {1, 15, 16, 17, 24, 30, 100, 256}) {
    RowLimit limit(most);
    std::set<int> seen;
    for (int i = 0; i < 5000; ++i) {
      seen.insert(limit.rows());
      Drive(&limit, 1, i < 2500 ? MoreIsCheaper : CacheOf32);
    }
    EXPECT_LE(*seen.rbegin(), most);
    EXPECT_GE(*seen.begin(), std::min(most, 16));
    EXPECT_TRUE(seen.contains(most));
  }
}

TEST(RowLimitTest, AFixedLimitStays) {
  RowLimit limit(256, /*fixed=*/true);
  Drive(&limit, 1000, CacheOf32);
  EXPECT_EQ(limit.rows(), 256);
}

}  // namespace
}  // namespace trivium
