#include "client/load/pacer.h"

#include <cmath>
#include <vector>

#include "client/load/arrivals.h"
#include "gmock/gmock.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

const absl::Time kStart = absl::FromUnixSeconds(1000);

double Since(absl::Time time) { return absl::ToDoubleSeconds(time - kStart); }

RateCurve Even(double rate) { return {.from = rate, .to = rate}; }

TEST(PoissonArrivalsTest, HasTheRateAndSpreadOfAPoissonProcess) {
  PoissonArrivals arrivals(Even(50), 7, kStart);
  constexpr int kCount = 20000;
  absl::Time last = kStart;
  double sum = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const absl::Time next = arrivals.next();
    const double gap = absl::ToDoubleSeconds(next - last);
    ASSERT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    last = next;
    arrivals.Advance();
  }
  const double mean = sum / kCount;
  // Five standard errors. That of the mean is 1/rate / sqrt(n); that of the
  // deviation, which equals the mean, is sqrt(2 / n) times it.
  EXPECT_NEAR(mean, 0.02, 5 * 0.02 / std::sqrt(kCount));
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 0.02,
              5 * 0.02 * std::sqrt(2.0 / kCount));
}

TEST(PoissonArrivalsTest, TheSeedDecidesTheTimes) {
  PoissonArrivals one(Even(50), 7, kStart), same(Even(50), 7, kStart),
      other(Even(50), 8, kStart);
  EXPECT_EQ(one.next(), same.next());
  EXPECT_NE(one.next(), other.next());
}

// 10/s for 2 s make 20 calls; a ramp to 30/s in 10 s makes 200 more.
TEST(RateCurveTest, ReturnsTheTimeOfTheExpectedNumber) {
  const RateCurve curve = {10, 30, absl::Seconds(2), absl::Seconds(10)};
  const auto seconds = [&](double calls) {
    return absl::ToDoubleSeconds(curve.TimeOf(calls));
  };
  EXPECT_NEAR(seconds(0), 0, 1e-9);
  EXPECT_NEAR(seconds(10), 1, 1e-9);
  EXPECT_NEAR(seconds(20), 2, 1e-9);
  // In the middle of the ramp: 10 * 5 + 2 * 5^2 / 2 = 75.
  EXPECT_NEAR(seconds(95), 7, 1e-9);
  EXPECT_NEAR(seconds(220), 12, 1e-9);
  EXPECT_NEAR(seconds(250), 13, 1e-9);
}

TEST(RateCurveTest, AcceptsRampsThatBeginOrEndAtZero) {
  const RateCurve up = {0, 10, absl::Seconds(3), absl::Seconds(10)};
  EXPECT_NEAR(absl::ToDoubleSeconds(up.TimeOf(0.5)), 3 + std::sqrt(1), 1e-9);
  const RateCurve down = {10, 0, absl::ZeroDuration(), absl::Seconds(10)};
  EXPECT_NEAR(absl::ToDoubleSeconds(down.TimeOf(37.5)), 5, 1e-9);
  EXPECT_EQ(down.TimeOf(50.1), absl::InfiniteDuration());
}

// Counts the calls in each of three intervals. Each count is within five
// standard deviations of its expectation; a deviation is the root of the
// expectation.
TEST(PoissonArrivalsTest, FollowsARamp) {
  PoissonArrivals arrivals({100, 500, absl::Seconds(10), absl::Seconds(20)}, 3,
                           kStart);
  int warm_up = 0, ramp = 0, after = 0;
  while (Since(arrivals.next()) < 40) {
    const double at = Since(arrivals.next());
    ++(at < 10 ? warm_up : at < 30 ? ramp : after);
    arrivals.Advance();
  }
  EXPECT_NEAR(warm_up, 1000, 5 * std::sqrt(1000));
  EXPECT_NEAR(ramp, 6000, 5 * std::sqrt(6000));
  EXPECT_NEAR(after, 5000, 5 * std::sqrt(5000));
}

TEST(BurstArrivalsTest, RepeatsBurstsAfterThePeriod) {
  BurstArrivals arrivals(3, absl::Seconds(5), kStart);
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    times.push_back(Since(arrivals.next()));
    arrivals.Advance();
  }
  EXPECT_THAT(times, ElementsAre(0, 0, 0, 5, 5, 5, 10));
}

std::vector<double> TimesOf(const Pacing& pacing, double until) {
  const std::unique_ptr<Pacer> pacer =
      MakePacer(pacing, kStart, absl::Seconds(2));
  std::vector<double> times;
  while (Since(pacer->NextStart(kStart, 0)) < until) {
    times.push_back(Since(pacer->NextStart(kStart, 0)));
    pacer->Started();
  }
  return times;
}

TEST(MakePacerTest, AddsBurstsToARate) {
  Pacing pacing;
  pacing.burst = {2, absl::Seconds(4)};
  // The first burst is at the end of the warm-up.
  const std::vector<double> bursts = TimesOf(pacing, 11);
  EXPECT_THAT(bursts, ElementsAre(2, 2, 6, 6, 10, 10));
  pacing.burst.reset();
  pacing.rate = 5;
  std::vector<double> both = TimesOf(pacing, 11);
  both.insert(both.end(), bursts.begin(), bursts.end());
  std::sort(both.begin(), both.end());
  pacing.burst = {2, absl::Seconds(4)};
  EXPECT_EQ(TimesOf(pacing, 11), both);
}

TEST(MakePacerTest, UsesTheRampsFirstRateInTheWarmUp) {
  Pacing pacing;
  pacing.ramp = {0, 100, absl::Seconds(5)};
  const std::vector<double> times = TimesOf(pacing, 7);
  ASSERT_FALSE(times.empty());
  EXPECT_GE(times.front(), 2);
}

TEST(OpenPacerTest, TimesDoNotDependOnWhenTheyAreAskedFor) {
  Pacing pacing;
  pacing.rate = 50;
  pacing.max_in_flight = 10;
  const std::unique_ptr<Pacer> pacer =
      MakePacer(pacing, kStart, absl::ZeroDuration());
  const absl::Time due = pacer->NextStart(kStart, 0);
  EXPECT_EQ(pacer->NextStart(due + absl::Seconds(60), 3), due);
  EXPECT_EQ(pacer->NextStart(kStart, 10), absl::InfiniteFuture());
  EXPECT_EQ(pacer->NextStart(kStart, 9), due);
}

TEST(ClosedPacerTest, KeepsTheNumberInFlight) {
  ClosedPacer pacer(2);
  EXPECT_EQ(pacer.NextStart(kStart, 0), kStart);
  EXPECT_EQ(pacer.NextStart(kStart, 1), kStart);
  EXPECT_EQ(pacer.NextStart(kStart, 2), absl::InfiniteFuture());
}

}  // namespace
}  // namespace trivium
