#include "server/batching/prefill_budget.h"

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(PrefillBudgetTest, SharesTheTimeOfAnIteration) {
  PrefillBudget budget(256);
  EXPECT_EQ(budget.Tokens(8, 1), 256);  // nothing is known
  for (int i = 0; i < 20; ++i) budget.Observe(0, 8, 10e-3);
  EXPECT_EQ(budget.Tokens(8, 1), 256);
  // A prefix token costs 50 us.
  for (int i = 0; i < 20; ++i) budget.Observe(100, 8, 15e-3);
  EXPECT_NEAR(budget.Tokens(8, 8), 200, 1);
  EXPECT_NEAR(budget.Tokens(8, 4), 100, 1);
  EXPECT_NEAR(budget.Tokens(8, 1), 50, 1);  // a quarter at least
  EXPECT_EQ(budget.Tokens(8, 100), 256);
}

TEST(PrefillBudgetTest, ReadsSomeTokensAtAnyCost) {
  PrefillBudget budget(256);
  budget.Observe(0, 8, 1e-3);
  for (int i = 0; i < 20; ++i) budget.Observe(10, 8, 1);
  EXPECT_EQ(budget.Tokens(100, 1), PrefillBudget::kLeastTokens);
  // If nothing runs, the budget is 0.1 s.
  for (int i = 0; i < 40; ++i) budget.Observe(100, 0, 0.101);
  EXPECT_NEAR(budget.Tokens(0, 1), 100, 2);
  // Beside nobody the weights are worth reading for some tokens.
  for (int i = 0; i < 40; ++i) budget.Observe(8, 0, 0.101);
  EXPECT_EQ(budget.Tokens(0, 1), PrefillBudget::kLeastAlone);
  EXPECT_LT(budget.Tokens(1, 1), PrefillBudget::kLeastAlone);
  PrefillBudget small(2);
  small.Observe(1, 0, 9);
  EXPECT_EQ(small.Tokens(1, 1), 2);
}

TEST(PrefillBudgetTest, FreeTokensAreAllRead) {
  PrefillBudget budget(64);
  budget.Observe(0, 8, 10e-3);
  budget.Observe(32, 8, 9e-3);
  EXPECT_EQ(budget.Tokens(8, 1), 64);
}

}  // namespace
}  // namespace trivium
