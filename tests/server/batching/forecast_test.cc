#include "server/batching/forecast.h"

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

constexpr RequestCost kSentence = {.tokens = 60, .rows = 1};

TEST(ServiceRateTest, IsUnknownUntilEnoughWasSeen) {
  ServiceRate rate(1);
  EXPECT_EQ(rate.PerSecond(), 0);
  rate.Observe(1000, absl::Milliseconds(100));
  EXPECT_EQ(rate.PerSecond(), 0);
  for (int i = 0; i < 3; ++i) rate.Observe(1000, absl::Milliseconds(100));
  EXPECT_NEAR(rate.PerSecond(), 10'000, 1e-6);
}

TEST(ServiceRateTest, CountsAllWorkersAndForgets) {
  ServiceRate rate(2);
  for (int i = 0; i < 100; ++i) rate.Observe(500, absl::Milliseconds(100));
  EXPECT_NEAR(rate.PerSecond(), 10'000, 1e-6);
  // Two seconds of both workers at twice the rate.
  for (int i = 0; i < 40; ++i) rate.Observe(1000, absl::Milliseconds(100));
  EXPECT_GT(rate.PerSecond(), 18'000);
  EXPECT_LT(rate.PerSecond(), 20'000);
}

class ForecastTest : public testing::Test {
 protected:
  void Push(CallId call) {
    auto queued = std::make_unique<QueuedRequest>();
    queued->call = call;
    queued->cost = kSentence;
    queue_.Push(std::move(queued));
  }
  Forecast::Times TimesOf(const RequestCost& cost) const {
    return forecast_.TimesOf(queue_, Sender{}, /*call=*/1000,
                             Forecast::DemandOf({&cost, 1}));
  }
  // 10,000 tokens a second.
  void Learn() { forecast_.Observe(5000, absl::Milliseconds(500)); }

  RequestQueue queue_{256};
  Forecast forecast_{1};
};

TEST_F(ForecastTest, PromisesZeroWithoutAMeasuredRate) {
  for (int i = 0; i < 100; ++i) Push(i);
  forecast_.SetRunning(0, Priority::kInteractive, 64);
  EXPECT_EQ(TimesOf(kSentence).answer, absl::ZeroDuration());
  EXPECT_EQ(forecast_.TimeIfStarted(kSentence, Priority::kInteractive),
            absl::ZeroDuration());
}

TEST_F(ForecastTest, AnIdleServerPromisesAnything) {
  Learn();
  EXPECT_EQ(TimesOf({.tokens = 1 << 20, .rows = 1}).answer,
            absl::ZeroDuration());
}

TEST_F(ForecastTest, CountsWaitingAndRunningWork) {
  Learn();
  for (int i = 0; i < 100; ++i) Push(i);
  EXPECT_EQ(TimesOf(kSentence).wait, absl::Milliseconds(600));
  EXPECT_EQ(TimesOf(kSentence).answer, absl::Milliseconds(606));
  forecast_.SetRunning(0, Priority::kInteractive, 50);
  EXPECT_EQ(TimesOf(kSentence).wait, absl::Milliseconds(600));
  EXPECT_EQ(TimesOf(kSentence).answer, absl::Milliseconds(606 + 50 * 6));
  // Four beams of 60 tokens take no longer beside the others than one beam.
  EXPECT_EQ(TimesOf({.tokens = 240, .rows = 4}).answer,
            absl::Milliseconds(624 + 50 * 6));
  EXPECT_EQ(forecast_.TimeIfStarted(kSentence, Priority::kInteractive),
            absl::Milliseconds(6 + 50 * 6));
}

TEST_F(ForecastTest, TheUsualDemandFollowsRecentCalls) {
  EXPECT_EQ(forecast_.usual_demand(1).tokens, 0);
  forecast_.RecordDemand(/*client=*/1, Forecast::DemandOf({&kSentence, 1}));
  EXPECT_EQ(forecast_.usual_demand(1).tokens, 60);
  const RequestCost longer = {.tokens = 400, .rows = 4};
  for (int i = 0; i < 100; ++i)
    forecast_.RecordDemand(/*client=*/1, Forecast::DemandOf({&longer, 1}));
  EXPECT_NEAR(forecast_.usual_demand(1).tokens, 400, 1);
  EXPECT_NEAR(forecast_.usual_demand(1).depth, 100, 1);
}

TEST_F(ForecastTest, EachClientHasItsOwnUsualDemand) {
  const RequestCost small = {.tokens = 20, .rows = 1};
  const RequestCost large = {.tokens = 8000, .rows = 4};
  EXPECT_EQ(forecast_.usual_demand(7).tokens, 0) << "nobody has come";
  for (int i = 0; i < 100; ++i) {
    forecast_.RecordDemand(/*client=*/1, Forecast::DemandOf({&large, 1}));
  }
  forecast_.RecordDemand(/*client=*/2, Forecast::DemandOf({&small, 1}));
  EXPECT_EQ(forecast_.usual_demand(1).tokens, 8000);
  EXPECT_EQ(forecast_.usual_demand(2).tokens, 20);
  EXPECT_EQ(forecast_.usual_demand(7).tokens, 20) << "the least";
  // Clients without recent calls are forgotten.
  for (ClientId client = 100; client < 200; ++client) {
    forecast_.RecordDemand(client, Forecast::DemandOf({&large, 1}));
  }
  EXPECT_EQ(forecast_.usual_demand(2).tokens, 8000);
}

TEST_F(ForecastTest, CallsInTransitComeBeforeTheNextCall) {
  Learn();
  forecast_.RecordDemand(/*client=*/0, Forecast::DemandOf({&kSentence, 1}));
  for (int i = 0; i < 100; ++i) queue_.AddInTransit(Sender{});
  const auto wait_of_next = [this] {
    return absl::ToDoubleMilliseconds(
        forecast_.TimesOfNext(queue_, Sender{}, /*call=*/1000).wait);
  };
  EXPECT_EQ(TimesOf(kSentence).answer, absl::ZeroDuration());
  EXPECT_EQ(wait_of_next(), 600);
  // Only the part of the calls that is for this model counts.
  for (int i = 0; i < 100; ++i) forecast_.RecordModel(i % 2 == 0);
  EXPECT_NEAR(wait_of_next(), 300, 30);
  for (int i = 0; i < 100; ++i) forecast_.RecordModel(false);
  EXPECT_EQ(wait_of_next(), 0);
}

}  // namespace
}  // namespace trivium
