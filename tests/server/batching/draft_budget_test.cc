#include "server/batching/draft_budget.h"

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(DraftBudgetTest, ARowIsCheapWhileFewRowsRun) {
  DraftBudget budget;
  EXPECT_EQ(budget.Price(1), 0.25);  // nothing is known
  EXPECT_EQ(budget.MostTokens(1), 4);
  // A step takes 4 ms and 0.2 ms for each row.
  for (int i = 0; i < 30; ++i) budget.Observe(0, 4.2e-3);
  for (int i = 0; i < 30; ++i) budget.Observe(10, 6.2e-3);
  EXPECT_NEAR(budget.Price(1), 0.2 / 4.2, 0.003);
  EXPECT_EQ(budget.MostTokens(1), DraftBudget::kMostTokens + 1);
  // A step of 16 rows takes 7.2 ms.
  for (int i = 0; i < 30; ++i) budget.Observe(0, 7.2e-3);
  for (int i = 0; i < 30; ++i) budget.Observe(2, 7.6e-3);
  EXPECT_NEAR(budget.Price(16), 16 * 0.2 / 7.2, 0.01);
  EXPECT_EQ(budget.MostTokens(16), 2);
}

TEST(DraftBudgetTest, GuessesBeforeAnyOtherStepTellNothing) {
  DraftBudget budget;
  budget.Observe(4, 1);
  budget.Observe(0, 4e-3);
  EXPECT_EQ(budget.Price(1), 0.25);
}

// Each row costs as much as any other, so guesses gain nothing.
TEST(DraftBudgetTest, NoGuessIsWorthMoreThanItsPrice) {
  DraftBudget budget;
  for (int i = 0; i < 30; ++i) budget.Observe(0, 32e-3);
  for (int i = 0; i < 30; ++i) budget.Observe(4, 37e-3);
  EXPECT_GT(budget.Price(32), 1);
  EXPECT_EQ(budget.MostTokens(32), 0);
}

// One step that was delayed does not end all guesses.
TEST(DraftBudgetTest, ATooHighPriceIsMeasuredAgain) {
  DraftBudget budget;
  for (int i = 0; i < 30; ++i) budget.Observe(0, 4e-3);
  budget.Observe(1, 1);
  EXPECT_GT(budget.Price(1), 1);
  int steps = 0;
  for (; budget.Price(1) > 0.9; ++steps) budget.Observe(0, 4e-3);
  EXPECT_LT(steps, 200);
}

}  // namespace
}  // namespace trivium
