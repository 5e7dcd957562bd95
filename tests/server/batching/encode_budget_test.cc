#include "server/batching/encode_budget.h"

#include "gtest/gtest.h"

namespace trivium {
namespace {

constexpr int kLayers = 6;
constexpr int kMost = 2048;

// An encoder layer of one token takes 10 us, the decoder's part 24 ms: a
// quarter of that pays for 100 tokens through six layers.
EncodeBudget Measured() {
  EncodeBudget budget(kLayers, kMost);
  for (int i = 0; i < 20; ++i) {
    budget.Observe(200 * kLayers, 200 * kLayers * 1e-5, 32, 0.024);
  }
  return budget;
}

TEST(EncodeBudgetTest, IsLargeIfNothingRunsOrIsMeasured) {
  EXPECT_NEAR(Measured().Tokens(0, 5), 0.1 / (kLayers * 1e-5), 1);
  EncodeBudget budget(kLayers, kMost);
  EXPECT_EQ(budget.Tokens(0, 5), kMost);
  EXPECT_EQ(budget.Tokens(10, 5), kMost);
  budget.Observe(600, 0.0006, 0, 0.001);
  EXPECT_EQ(budget.Tokens(0, 5), kMost);
  EXPECT_EQ(budget.Tokens(10, 5), kMost);
  budget.Observe(0, 0, 32, 0.024);
  EXPECT_EQ(budget.Tokens(0, 5), kMost);
  EXPECT_LT(budget.Tokens(10, 5), kMost);
  EncodeBudget no_encoder(0, kMost);
  no_encoder.Observe(0, 0, 32, 0.024);
  EXPECT_EQ(no_encoder.Tokens(10, 5), kMost);
}

TEST(EncodeBudgetTest, FewNewcomersGetAQuarterOfAnIteration) {
  EXPECT_NEAR(Measured().Tokens(32, 1), 100, 1);
  EXPECT_NEAR(Measured().Tokens(32, 8), 100, 1);
}

TEST(EncodeBudgetTest, ManyNewcomersGetMoreUpToABound) {
  EXPECT_NEAR(Measured().Tokens(32, 32), 400, 1);
  EXPECT_NEAR(Measured().Tokens(1, 4), 1600, 1);
  EXPECT_NEAR(Measured().Tokens(1, 1000), 1600, 1);
  EncodeBudget small(kLayers, 64);
  small.Observe(200 * kLayers, 0.012, 32, 0.024);
  EXPECT_EQ(small.Tokens(1, 1000), 64);
}

TEST(EncodeBudgetTest, NeverStarvesAShortSentence) {
  EncodeBudget budget = Measured();
  for (int i = 0; i < 50; ++i) budget.Observe(600, 0.006, 1, 1e-6);
  EXPECT_EQ(budget.Tokens(100, 1), EncodeBudget::kLeastTokens);
}

TEST(EncodeBudgetTest, FollowsChangesOfTheMeasuredTimes) {
  EncodeBudget budget = Measured();
  for (int i = 0; i < 10; ++i) budget.Observe(0, 0, 32, 0.048);
  EXPECT_NEAR(budget.Tokens(32, 1), 200, 10);
  for (int i = 0; i < 10; ++i) budget.Observe(600, 0.012, 32, 0.048);
  EXPECT_NEAR(budget.Tokens(32, 1), 100, 10);
}

}  // namespace
}  // namespace trivium
