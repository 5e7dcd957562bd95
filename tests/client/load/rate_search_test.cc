#include "client/load/rate_search.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

// Searches for the rate of a server that bears `capacity`. Records the measured
// rates.
std::vector<double> Search(double capacity, double start, double* highest,
                           RateSearch::Options options = {.tries = 1}) {
  RateSearch search(start, options);
  std::vector<double> asked;
  while (!search.done()) {
    asked.push_back(search.rate());
    search.Add(search.rate() <= capacity);
  }
  *highest = search.highest();
  return asked;
}

TEST(RateSearchTest, FindsTheCapacityFromEitherSide) {
  for (const double capacity : {3, 90, 100, 101, 5000}) {
    double found;
    const std::vector<double> asked = Search(capacity, 100, &found);
    EXPECT_LE(found, capacity);
    EXPECT_GT(found * 1.03, capacity * 0.9999);
    // No rate is measured twice.
    EXPECT_EQ(std::set<double>(asked.begin(), asked.end()).size(),
              asked.size());
  }
}

TEST(RateSearchTest, EndsIfNoRatePasses) {
  double found;
  const std::vector<double> asked = Search(0, 100, &found);
  EXPECT_EQ(found, 0);
  EXPECT_GE(asked.back(), 1);
}

TEST(RateSearchTest, ForgivesASingleFailedMeasurement) {
  RateSearch search(100, {.tolerance = 0.3, .tries = 2});
  search.Add(false);
  EXPECT_EQ(search.rate(), 100);
  search.Add(true);
  EXPECT_EQ(search.rate(), 125);
  search.Add(false);
  EXPECT_FALSE(search.done());
  search.Add(false);
  EXPECT_TRUE(search.done());
  EXPECT_EQ(search.highest(), 100);
}

}  // namespace
}  // namespace trivium
