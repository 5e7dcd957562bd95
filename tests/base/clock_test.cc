#include "base/clock.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(ClockTest, NeverGoesBack) {
  absl::Time last = SteadyNow();
  for (int i = 0; i < 10'000; ++i) {
    const absl::Time now = SteadyNow();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, TimesThatAreToldAreTheMachines) {
  const Clock& clock = *Clock::Real();
  const absl::Time before = absl::Now();
  const absl::Time told = clock.WallTime(clock.Now());
  const absl::Time after = absl::Now();
  // Three readings of clocks lie between.
  EXPECT_GE(told, before - absl::Milliseconds(100));
  EXPECT_LE(told, after + absl::Milliseconds(100));
  const absl::Time now = clock.Now();
  EXPECT_LT(absl::AbsDuration(clock.WallTime(now - absl::Hours(1)) -
                              (absl::Now() - absl::Hours(1))),
            absl::Milliseconds(100));
}

TEST(ClockTest, WaitsUntilADeadline) {
  Mutex mutex;
  CondVar never;
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(20);
  MutexLock lock(&mutex);
  while (SteadyNow() < deadline) {
    Clock::Real()->WaitUntil(deadline, &never, &mutex);
  }
  EXPECT_GE(SteadyNow(), deadline);
}

}  // namespace
}  // namespace trivium
