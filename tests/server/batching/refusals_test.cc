#include "server/batching/refusals.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

const absl::Time kTimeOfCall = absl::FromUnixSeconds(1000);

Forecast::Times Forecasts(double wait, double answer) {
  return {absl::Seconds(wait), absl::Seconds(answer)};
}

// Whether a call with so much time, whose answer takes 2 s, is let in.
bool LetsIn(absl::Duration left) {
  return CheckTime(Forecasts(1, 2), kTimeOfCall, kTimeOfCall + left,
                   absl::InfiniteDuration())
      .ok();
}

TEST(RefusalsTest, ACallNeedsAQuarterMoreTimeThanItsForecast) {
  EXPECT_FALSE(LetsIn(absl::Milliseconds(1)));
  EXPECT_FALSE(LetsIn(absl::Milliseconds(2500)));
  EXPECT_TRUE(LetsIn(absl::Milliseconds(2510)));
  EXPECT_TRUE(LetsIn(absl::InfiniteDuration()));
  // The queue reports deadlines that have passed.
  EXPECT_TRUE(LetsIn(absl::ZeroDuration()));
  EXPECT_TRUE(LetsIn(-absl::Seconds(5)));
}

TEST(RefusalsTest, WithoutAForecastNobodyIsLate) {
  EXPECT_TRUE(CheckTime(Forecasts(0, 0), kTimeOfCall,
                        kTimeOfCall + absl::Nanoseconds(1),
                        absl::ZeroDuration())
                  .ok());
}

TEST(RefusalsTest, ALongWaitIsRefused) {
  const auto check = [](double wait) {
    return CheckTime(Forecasts(wait, 9), kTimeOfCall, absl::InfiniteFuture(),
                     absl::Seconds(3));
  };
  EXPECT_TRUE(check(3).ok());
  const Submission refusal = check(3.5);
  EXPECT_TRUE(absl::IsResourceExhausted(refusal.status));
  EXPECT_TRUE(refusal.late);
  EXPECT_EQ(refusal.retry_after, absl::Seconds(9));
  EXPECT_STREQ(ReasonOf(refusal), "late");
}

// The room for all calls in transit, and for a small one.
TEST(RefusalsTest, RoomIsLeftForACallOfUsualSize) {
  Admission admission(10000);
  const Sender sender = {7, Priority::kInteractive};
  const int64_t room = admission.free_tokens(7, Priority::kInteractive);
  const auto check = [&](int64_t usual, int64_t in_transit) {
    return CheckRoom(admission, sender, usual, in_transit, Forecasts(0, 2));
  };
  EXPECT_TRUE(check(room, 0).ok());
  EXPECT_TRUE(check(100 * room, 0).ok());  // it may ask for less
  EXPECT_TRUE(check(100, room / 100 - 1).ok());
  const Submission refusal = check(100, room / 100);
  EXPECT_TRUE(absl::IsResourceExhausted(refusal.status));
  EXPECT_EQ(refusal.retry_after, absl::Seconds(2));
  EXPECT_STREQ(ReasonOf(refusal), "full");
  // Of a large call only the first 256 tokens must find room.
  admission.Add(7, 8632);
  ASSERT_EQ(admission.free_tokens(7, Priority::kInteractive), 256);
  EXPECT_TRUE(check(1000, 0).ok());
  EXPECT_TRUE(check(100, 1).ok());
  EXPECT_FALSE(check(100, 2).ok());
  admission.Add(7, 1);
  ASSERT_EQ(admission.free_tokens(7, Priority::kInteractive), 255);
  EXPECT_FALSE(check(1000, 0).ok());
  EXPECT_TRUE(check(255, 0).ok());
}

TEST(RefusalsTest, EachKindHasAReason) {
  EXPECT_STREQ(ReasonOf(absl::InvalidArgumentError("")), "invalid");
  EXPECT_STREQ(ReasonOf(absl::UnavailableError("")), "draining");
  const Submission stalled = RefuseStalled({.name = "m", .model = nullptr});
  EXPECT_TRUE(absl::IsUnavailable(stalled.status));
  EXPECT_STREQ(ReasonOf(stalled), "stalled");
}

TEST(RefusalsTest, ClientsComeBackWhenThereWouldBeAnAnswer) {
  EXPECT_EQ(RetryAfter(absl::ZeroDuration()), absl::Seconds(1));
  EXPECT_EQ(RetryAfter(absl::Microseconds(1)), absl::Milliseconds(10));
  EXPECT_EQ(RetryAfter(absl::Seconds(8)), absl::Seconds(8));
  EXPECT_EQ(RetryAfter(absl::Hours(8)), absl::Minutes(1));
}

}  // namespace
}  // namespace trivium
