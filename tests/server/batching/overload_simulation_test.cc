// An overloaded server in simulated time. The engine's steps take time in
// proportion to their rows, the clock moves only with these steps, and calls
// come at a fixed rate whatever their answers.
#include "tests/server/batching/overload_simulation.h"

#include <vector>

namespace trivium {
namespace {

struct Load {
  double times;  // the capacity
  absl::Duration time;
};

class GoodputTest : public OverloadSimulation,
                    public testing::WithParamInterface<Load> {};

TEST_P(GoodputTest, NineTenthsOfTheCapacityAreAnsweredInTime) {
  const double capacity = Capacity();
  const double rate = GetParam().times * capacity;
  Outcomes calls(&clock_, &in_flight_), after(&clock_, &in_flight_);
  // Counts from the start, when nothing is known of the deadlines.
  Offer(rate, absl::Seconds(1), GetParam().time, &calls);
  const int in_time = calls.in_time(), missed = calls.missed();
  Offer(rate, absl::Seconds(2), GetParam().time, &calls);
  const double goodput = (calls.in_time() - in_time) / 2.0;
  RecordProperty("goodput", std::to_string(goodput / capacity));
  EXPECT_GE(goodput, 0.9 * capacity);
  EXPECT_LE(calls.missed() - missed, 0.05 * 2 * goodput);
  EXPECT_GT(calls.refused(), 0);
  EXPECT_LE(calls.longest_retry(), GetParam().time * 2);
  // At half of the capacity, no call is refused after 2 s.
  Offer(capacity / 2, absl::Seconds(2), GetParam().time, &after);
  const int refused = after.refused() + after.missed();
  Offer(capacity / 2, absl::Seconds(1), GetParam().time, &after);
  EXPECT_EQ(after.refused() + after.missed(), refused);
  Finish(calls);
  Finish(after);
}

INSTANTIATE_TEST_SUITE_P(Loads, GoodputTest,
                         testing::Values(Load{2, absl::Milliseconds(50)},
                                         Load{3, absl::Milliseconds(50)},
                                         Load{10, absl::Milliseconds(50)},
                                         Load{2, absl::Milliseconds(200)},
                                         Load{3, absl::Milliseconds(200)},
                                         Load{10, absl::Milliseconds(200)},
                                         Load{2, absl::Seconds(1)},
                                         Load{3, absl::Seconds(1)},
                                         Load{10, absl::Seconds(1)}));

// A transport would take longer to receive all calls than their deadlines
// allow, so it must let in few more than can be answered.
class BehindATransportTest : public GoodputTest {};

TEST_P(BehindATransportTest, NineTenthsOfTheCapacityAreAnsweredInTime) {
  const double capacity = Capacity();
  // The transport could carry three times as many calls as can be answered.
  transport_time_ = absl::Seconds(1 / (3 * capacity));
  const double rate = GetParam().times * capacity;
  Outcomes calls(&clock_, &in_flight_);
  Offer(rate, absl::Seconds(1), GetParam().time, &calls);
  const int in_time = calls.in_time(), missed = calls.missed();
  Offer(rate, absl::Seconds(2), GetParam().time, &calls);
  const double goodput = (calls.in_time() - in_time) / 2.0;
  RecordProperty("goodput", std::to_string(goodput / capacity));
  EXPECT_GE(goodput, 0.9 * capacity);
  EXPECT_LE(lost_ + calls.missed() - missed, 0.05 * 2 * goodput);
  // Only the calls of a short time are in transit.
  EXPECT_LT(on_the_way_.size(),
            capacity * absl::ToDoubleSeconds(GetParam().time));
  for (const Call& call : on_the_way_) batcher_->RemoveInTransit(call.call);
  Finish(calls);
}

INSTANTIATE_TEST_SUITE_P(Loads, BehindATransportTest,
                         testing::Values(Load{10, absl::Milliseconds(50)},
                                         Load{10, absl::Milliseconds(200)},
                                         Load{10, absl::Seconds(1)}));

TEST_F(OverloadSimulation, AFullQueueRefusesBeforeTextsAreRead) {
  options_.max_waiting_tokens = 10'000;
  Create();
  Outcomes greedy(&clock_, &in_flight_);
  auto submit = [&, next = 0]() mutable {
    Request request = MakeRequest(Source(20, next++), Greedy(20), nullptr);
    request.client = 1;
    request.observer = greedy.Observe(clock_.Now());
    return batcher_->Submit(batcher_->NewCall(), {request}).ok();
  };
  const auto foreseen = [&](const ServedModel* model, ClientId client) {
    return batcher_->CheckAdmission(model, {client}, batcher_->NewCall(),
                                    absl::InfiniteFuture());
  };
  ASSERT_TRUE(submit());
  // Calls in transit count ...
  std::vector<CallId> calls;
  while (foreseen(nullptr, 1).ok() && calls.size() < 1000) {
    calls.push_back(batcher_->NewCall());
    batcher_->AddInTransit(calls.back(), {1});
  }
  EXPECT_GE(calls.size(), 200u);
  EXPECT_LE(calls.size(), 250u);
  EXPECT_TRUE(foreseen(TheModel().get(), 1).ok());
  EXPECT_TRUE(foreseen(nullptr, 2).ok());
  for (const CallId call : calls) batcher_->RemoveInTransit(call);
  // ... and so do waiting ones.
  while (foreseen(nullptr, 1).ok()) ASSERT_TRUE(submit());
  const Submission refusal = foreseen(TheModel().get(), 1);
  EXPECT_TRUE(absl::IsResourceExhausted(refusal.status));
  EXPECT_FALSE(refusal.late);
  EXPECT_GT(refusal.retry_after, absl::ZeroDuration());
  EXPECT_TRUE(foreseen(TheModel().get(), 2).ok());
  Finish(greedy);
  EXPECT_TRUE(foreseen(nullptr, 1).ok());
}

// A client's calls in transit do not cause refusals of another client's calls.
TEST_F(OverloadSimulation, CallsInTransitCountForTheirOwnClient) {
  const double capacity = Capacity();
  Outcomes outcomes(&clock_, &in_flight_);
  for (int i = 0; i < 10; ++i) {
    Submit(1, absl::InfiniteDuration(), &outcomes);
  }
  Step();
  const absl::Time soon = clock_.Now() + absl::Milliseconds(200);
  const auto foreseen = [&](ClientId client) {
    return batcher_
        ->CheckAdmission(nullptr, {client}, batcher_->NewCall(), soon)
        .ok();
  };
  EXPECT_TRUE(foreseen(1));
  std::vector<CallId> expected;
  for (int i = 0; i < 0.5 * capacity; ++i) {
    expected.push_back(batcher_->NewCall());
    batcher_->AddInTransit(expected.back(), {.client = 1});
  }
  EXPECT_FALSE(foreseen(1));
  EXPECT_TRUE(foreseen(2));
  // Calls that have arrived come before those in transit.
  EXPECT_TRUE(
      batcher_->CheckAdmission(TheModel().get(), {1}, batcher_->NewCall(), soon)
          .ok());
  for (const CallId call : expected) batcher_->RemoveInTransit(call);
  batcher_->RemoveInTransit(expected.front());
  EXPECT_TRUE(foreseen(1));
  Finish(outcomes);
}

TEST_F(OverloadSimulation, ALoneCallDoesNotWaitForAnotherClientsMany) {
  Create();
  Outcomes many(&clock_, &in_flight_), lone(&clock_, &in_flight_);
  for (int i = 0; i < 2048; ++i) Submit(1, absl::InfiniteDuration(), &many);
  for (int i = 0; i < 10; ++i) Step();
  for (int turn = 0; turn < 10; ++turn) {
    ASSERT_TRUE(Submit(2, absl::InfiniteDuration(), &lone));
    Finish(lone);
    for (int i = 0; i < 10; ++i) Submit(1, absl::InfiniteDuration(), &many);
  }
  EXPECT_FALSE(many.all_answered());
  Finish(many);
  EXPECT_GE(many.longest_wait(), absl::Milliseconds(500));
  EXPECT_LE(lone.longest_wait(), absl::Milliseconds(20));
}

// The other client may even have filled the queue, or be refused as late.
TEST_F(OverloadSimulation, AGreedyClientIsRefusedFirst) {
  options_.max_waiting_tokens = 100'000;
  Create();
  Outcomes greedy(&clock_, &in_flight_), lone(&clock_, &in_flight_);
  int taken = 0;
  for (int i = 0; i < 8000; ++i) {
    Request request = MakeRequest(Source(20, i), Greedy(20), nullptr);
    request.client = 1;
    request.observer = greedy.Observe(clock_.Now());
    const Submission submission =
        batcher_->Submit(batcher_->NewCall(), {request});
    if (submission.ok()) {
      ++taken;
    } else {
      EXPECT_FALSE(submission.late);
      greedy.Forget();
    }
  }
  EXPECT_LT(taken, 2300);
  for (int i = 0; i < 150; ++i) Step();
  EXPECT_FALSE(greedy.all_answered());
  EXPECT_FALSE(Submit(1, absl::Milliseconds(250), &greedy));
  EXPECT_TRUE(Submit(2, absl::Milliseconds(250), &lone));
  Finish(lone);
  EXPECT_EQ(lone.in_time(), 1);
  Finish(greedy);
}

TEST_F(OverloadSimulation, NoCallWaitsLongerThanTheBound) {
  options_.max_queue_wait = absl::Milliseconds(300);
  const double capacity = Capacity();
  Outcomes outcomes(&clock_, &in_flight_);
  Offer(3 * capacity, absl::Seconds(3), absl::InfiniteDuration(), &outcomes);
  Finish(outcomes);
  EXPECT_EQ(outcomes.missed(), 0);
  EXPECT_GE(outcomes.in_time(), 3 * 0.9 * capacity);
  EXPECT_GT(outcomes.refused(), 0);
  EXPECT_LE(outcomes.longest(), absl::Milliseconds(500));
}

TEST_F(OverloadSimulation, LoadBelowTheCapacityIsNeverRefused) {
  const double capacity = Capacity();
  Outcomes outcomes(&clock_, &in_flight_);
  Offer(0.6 * capacity, absl::Seconds(2), absl::Milliseconds(100), &outcomes);
  Finish(outcomes);
  EXPECT_EQ(outcomes.refused() + outcomes.missed(), 0);
}

// After a refusal, a call that retries at the given time is accepted, unless
// other calls have taken the room.
TEST_F(OverloadSimulation, RetryAfterIsWhenThereIsRoom) {
  const double capacity = Capacity();
  Outcomes others(&clock_, &in_flight_), outcomes(&clock_, &in_flight_);
  for (int i = 0; i < 0.5 * capacity; ++i) {
    Submit(1, absl::InfiniteDuration(), &others);
  }
  for (int i = 0; i < 5; ++i) Step();
  const absl::Duration time = absl::Milliseconds(100);
  ASSERT_FALSE(Submit(1, time, &outcomes));
  const absl::Time again = clock_.Now() + outcomes.longest_retry();
  while (clock_.Now() < again && !others.all_answered()) Step();
  EXPECT_TRUE(Submit(1, time, &outcomes));
  Finish(outcomes);
  EXPECT_EQ(outcomes.in_time(), 1);
  Finish(others);
}

TEST_F(OverloadSimulation, ACallForAnUnknownModelIsRefusedIfEveryModelWould) {
  const double capacity = Capacity();
  Outcomes others(&clock_, &in_flight_);
  for (int i = 0; i < 0.5 * capacity; ++i) {
    Submit(1, absl::InfiniteDuration(), &others);
  }
  for (int i = 0; i < 5; ++i) Step();
  const absl::Time soon = clock_.Now() + absl::Milliseconds(100);
  const auto foreseen = [&](const ServedModel* model) {
    return batcher_->CheckAdmission(model, {.client = 2}, batcher_->NewCall(),
                                    soon);
  };
  EXPECT_TRUE(foreseen(nullptr).late);
  EXPECT_GT(foreseen(nullptr).retry_after, absl::Milliseconds(10));
  ASSERT_TRUE(
      batcher_->AddModel(ServedPuppet("idle"), puppets_.MakeEngines(1)).ok());
  EXPECT_TRUE(foreseen(nullptr).ok());
  EXPECT_TRUE(foreseen(TheModel().get()).late);
  Finish(others);
}

}  // namespace
}  // namespace trivium
