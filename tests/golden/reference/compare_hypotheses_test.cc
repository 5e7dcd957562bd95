#include <gtest/gtest.h>

#include <vector>

#include "tests/support/golden.h"

namespace trivium {
namespace {

using Expected = std::vector<GoldenSearch::Hypothesis>;

bool Equal(const Expected& expected, const std::vector<Hypothesis>& actual) {
  return CompareHypotheses(expected, actual).ok();
}

Hypothesis Found(std::vector<int32_t> ids, float score) {
  Hypothesis hypothesis;
  hypothesis.ids = std::move(ids);
  hypothesis.score = score;
  return hypothesis;
}

const Expected kThree = {{{1, 2}, -1.0f}, {{1, 3}, -2.0f}, {{1, 4}, -2.0005f}};

TEST(CompareHypothesesTest, TiesMaySwap) {
  EXPECT_TRUE(Equal(
      kThree, {Found({1, 2}, -1), Found({1, 3}, -2), Found({1, 4}, -2.0005f)}));
  EXPECT_TRUE(Equal(
      kThree, {Found({1, 2}, -1), Found({1, 4}, -2), Found({1, 3}, -2.0005f)}));
  EXPECT_FALSE(Equal(
      kThree, {Found({1, 3}, -1), Found({1, 2}, -2), Found({1, 4}, -2.0005f)}));
}

TEST(CompareHypothesesTest, OneOfAnotherListMayTieAtTheCut) {
  EXPECT_TRUE(Equal(
      kThree, {Found({1, 2}, -1), Found({1, 3}, -2), Found({9}, -2.0008f)}));
  EXPECT_TRUE(Equal(
      kThree, {Found({1, 2}, -1), Found({9}, -2), Found({1, 3}, -2.0005f)}));
  // Not instead of a hypothesis that is better than the last, ...
  EXPECT_FALSE(Equal(
      kThree, {Found({9}, -1), Found({1, 3}, -2), Found({1, 4}, -2.0005f)}));
  // ... not twice, and not alone.
  EXPECT_FALSE(
      Equal(kThree, {Found({1, 2}, -1), Found({9}, -2), Found({8}, -2.0005f)}));
  EXPECT_FALSE(Equal({{{1, 2}, -1.0f}}, {Found({9}, -1)}));
}

TEST(CompareHypothesesTest, NoneCountsTwice) {
  EXPECT_FALSE(
      Equal({{{1, 2}, -1.0f}, {{1, 3}, -1.0f}, {{1, 4}, -2.0f}},
            {Found({1, 2}, -1), Found({1, 2}, -1), Found({1, 4}, -2)}));
}

TEST(CompareHypothesesTest, ScoresCount) {
  EXPECT_FALSE(Equal(kThree, {Found({1, 2}, -1.002f), Found({1, 3}, -2),
                              Found({1, 4}, -2.0005f)}));
  EXPECT_FALSE(Equal(kThree, {Found({1, 2}, -1), Found({1, 3}, -2)}));
  EXPECT_TRUE(Equal({{{1, 2}, std::nullopt}}, {Found({1, 2}, -5)}));
}

}  // namespace
}  // namespace trivium
