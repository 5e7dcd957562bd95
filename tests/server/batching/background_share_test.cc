#include "server/batching/background_share.h"

#include <cmath>

#include "gtest/gtest.h"

namespace trivium {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

TEST(BackgroundShareTest, SetsNoBoundIfNothingInteractiveRan) {
  BackgroundShare share;
  EXPECT_FALSE(share.beside_interactive());
  EXPECT_TRUE(std::isinf(share.Seconds(kNow)));
}

TEST(BackgroundShareTest, EarnsAShareOfTheTimeOfInteractiveRequests) {
  BackgroundShare share;
  share.Began();
  EXPECT_TRUE(share.beside_interactive());
  EXPECT_EQ(share.Seconds(kNow), 0);
  share.Observe(1.0, 0);
  EXPECT_NEAR(share.Seconds(kNow), BackgroundShare::kEarned, 1e-9);
  // Background requests use more than they have earned, and owe the rest.
  share.Observe(1.0, 1.0);
  EXPECT_NEAR(share.Seconds(kNow), BackgroundShare::kEarned - 1, 1e-9);
  double background = 0, all = 0;
  for (int i = 0; i < 10000; ++i) {
    const bool takes = share.Seconds(kNow) > 0;
    share.Observe(takes ? 1.5 : 1.0, takes ? 0.5 : 0);
    background += takes ? 0.5 : 0;
    all += takes ? 1.5 : 1.0;
  }
  EXPECT_NEAR(background / (all - background), BackgroundShare::kEarned, 0.01);
}

TEST(BackgroundShareTest, SavesNoMoreThanAPartOfARequest) {
  BackgroundShare share;
  share.Began();
  share.Answered(absl::Seconds(4));
  for (int i = 0; i < 100; ++i) share.Observe(1.0, 0);
  EXPECT_NEAR(share.Seconds(kNow), 1, 1e-9);
}

TEST(BackgroundShareTest,
     KeepsIterationsShortForAWhileAfterInteractiveRequests) {
  BackgroundShare share;
  share.Began();
  share.Answered(absl::Seconds(4));
  share.Ended(kNow);
  EXPECT_NEAR(share.Seconds(kNow), 1, 1e-9);
  EXPECT_NEAR(share.Seconds(kNow + BackgroundShare::kLately / 2), 1, 1e-9);
  EXPECT_TRUE(std::isinf(share.Seconds(kNow + BackgroundShare::kLately)));
}

}  // namespace
}  // namespace trivium
