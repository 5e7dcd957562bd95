#include "server/batching/iteration_costs.h"

#include "gtest/gtest.h"

namespace trivium {
namespace {

// Background requests pay for their part of the encoder's time and of the
// decoder's.
TEST(IterationCostsTest, BackgroundRequestsPayForTheirParts) {
  BackgroundShare share;
  IterationCosts costs(
      {.encoder_layers = 2, .encode_budget_tokens = 100, .max_rows = 16},
      &share);
  share.Began();
  costs.Observe({.seconds = 1,
                 .encode_seconds = 0.6,
                 .encode_work = 60,
                 .background_encode_work = 20,
                 .rows = 8,
                 .background_rows = 2});
  const double paid = 0.6 / 3 + 0.4 / 4;
  EXPECT_NEAR(share.Seconds(absl::UnixEpoch()),
              BackgroundShare::kEarned * (1 - paid) - paid, 1e-9);
}

}  // namespace
}  // namespace trivium
