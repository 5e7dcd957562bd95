// Interactive beside background calls in simulated time; see
// overload_simulation.h.
#include "tests/server/batching/overload_simulation.h"

namespace trivium {
namespace {

// Interactive calls beside as many background calls as the queue accepts.
TEST_F(OverloadSimulation, BackgroundCallsHardlyDelayInteractiveOnes) {
  options_.max_waiting_tokens = 100'000;
  Create();
  const auto offer = [&](Outcomes* background, absl::Duration* longest) {
    Outcomes interactive(&clock_, &in_flight_);
    const absl::Time end = clock_.Now() + absl::Seconds(2);
    for (absl::Time next = clock_.Now(); next < end;
         next += absl::Milliseconds(17)) {
      while (clock_.Now() < next) {
        if (in_flight_ == 0) {
          clock_.Advance(next - clock_.Now());
        } else {
          Step();
        }
      }
      EXPECT_TRUE(Submit({.client = 1,
                          .call = batcher_->NewCall(),
                          .came = next,
                          .deadline = absl::InfiniteFuture(),
                          .outcomes = &interactive}));
      for (int i = 0; background != nullptr && i < 50; ++i)
        SubmitBackground(background);
    }
    Finish(interactive);
    EXPECT_EQ(interactive.in_time(), 118);
    *longest = interactive.longest();
  };
  absl::Duration alone, beside;
  offer(nullptr, &alone);
  Outcomes background(&clock_, &in_flight_);
  for (int i = 0; i < 2000; ++i) SubmitBackground(&background);
  offer(&background, &beside);
  EXPECT_LE(absl::FDivDuration(beside, alone), 1.4);
  // The background calls got the remaining time.
  EXPECT_GE(background.in_time(), 500);
  EXPECT_FALSE(background.all_answered());
  Finish(background);
  EXPECT_EQ(background.missed(), 0);
}

// There are more interactive calls than can be answered.
TEST_F(OverloadSimulation, BackgroundCallsAreNeverStarved) {
  const double capacity = Capacity();
  Outcomes background(&clock_, &in_flight_), interactive(&clock_, &in_flight_);
  for (int i = 0; i < 500; ++i) SubmitBackground(&background);
  Offer(2 * capacity, absl::Seconds(1), absl::Milliseconds(200), &interactive);
  const int before = background.in_time();
  Offer(2 * capacity, absl::Seconds(2), absl::Milliseconds(200), &interactive);
  EXPECT_GE(background.in_time() - before, 5);
  EXPECT_GE(interactive.in_time(), 3 * 0.6 * capacity);
  Finish(interactive);
  Finish(background);
  EXPECT_EQ(background.in_time(), 500);
}

}  // namespace
}  // namespace trivium
