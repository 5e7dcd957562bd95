#include "server/batching/fair_queue.h"

#include <map>
#include <set>

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

using Verdict = FairQueue::Verdict;

class FairQueueTest : public testing::Test {
 protected:
  FairQueueTest() : queue_(100) {}

  void Push(CallId call, int64_t tokens,
            std::shared_ptr<const Cancellation> cancellation = nullptr,
            absl::Time deadline = absl::InfiniteFuture(), ClientId client = 0) {
    auto queued = std::make_unique<QueuedRequest>();
    queued->request.client = client;
    queued->call = call;
    queued->cost.tokens = tokens;
    queued->source_key = next_++;
    queued->request.cancellation = std::move(cancellation);
    queued->request.deadline = deadline;
    queue_.Push(std::move(queued));
  }
  // Returns the call of the next request; 0: none.
  CallId Dequeue() {
    const auto taken =
        queue_.Dequeue([](QueuedRequest&) { return Verdict::kTake; });
    return taken == nullptr ? 0 : taken->call;
  }

  void PushOf(ClientId client, CallId call, int64_t tokens) {
    Push(call, tokens, nullptr, absl::InfiniteFuture(), client);
  }

  FairQueue queue_;
  uint64_t next_ = 1;
};

TEST_F(FairQueueTest, ServesACallInOrder) {
  for (int i = 0; i < 10; ++i) Push(7, 30);
  for (uint64_t i = 1; i <= 10; ++i) {
    const auto taken =
        queue_.Dequeue([](QueuedRequest&) { return Verdict::kTake; });
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(taken->source_key, i);
  }
  EXPECT_EQ(Dequeue(), 0u);
  EXPECT_EQ(queue_.tokens(), 0);
  EXPECT_EQ(queue_.requests(), 0);
}

TEST_F(FairQueueTest, SharesTokensNotRequests) {
  for (int i = 0; i < 1000; ++i) {
    Push(1, 10);
    Push(2, 90);
    Push(3, 450);  // more than a quantum
  }
  std::map<CallId, int64_t> tokens;
  const std::map<CallId, int64_t> price = {{1, 10}, {2, 90}, {3, 450}};
  for (int i = 0; i < 900; ++i) {
    const CallId call = Dequeue();
    tokens[call] += price.at(call);
  }
  EXPECT_NEAR(tokens[1], tokens[2], 550);
  EXPECT_NEAR(tokens[1], tokens[3], 550);
}

TEST_F(FairQueueTest, ALoneRequestPassesALongStream) {
  for (int i = 0; i < 10000; ++i) Push(1, 60);
  EXPECT_EQ(Dequeue(), 1u);
  Push(2, 60);
  int before = 0;
  while (Dequeue() != 2) ++before;
  EXPECT_LE(before, 3);  // at most one turn of the stream
}

TEST_F(FairQueueTest, APriceFarAboveTheQuantumIsPaidInTheEnd) {
  Push(1, 1'000'000'000);
  for (int i = 0; i < 5; ++i) Push(2, 50);
  std::vector<CallId> order;
  while (const CallId call = Dequeue()) order.push_back(call);
  EXPECT_EQ(order, (std::vector<CallId>{2, 2, 2, 2, 2, 1}));
}

TEST_F(FairQueueTest, ASkippedCallWaitsForTheNextPassAndKeepsWhatItEarned) {
  for (int i = 0; i < 3; ++i) {
    Push(1, 100);
    Push(2, 100);
  }
  int judged = 0;
  const auto skip_one = [&judged](QueuedRequest& request) {
    judged += request.call == 1;
    return request.call == 1 ? Verdict::kSkip : Verdict::kTake;
  };
  queue_.BeginPass();
  while (const auto taken = queue_.Dequeue(skip_one))
    EXPECT_EQ(taken->call, 2u);
  EXPECT_EQ(judged, 1);
  EXPECT_EQ(queue_.requests(), 3);
  queue_.BeginPass();
  Push(3, 100);
  EXPECT_EQ(Dequeue(), 1u);  // without earning another quantum
  EXPECT_EQ(Dequeue(), 3u);
}

TEST_F(FairQueueTest, RequestsOfOtherClientsOvertakeASkippedClient) {
  const auto skip_client = [](QueuedRequest& request) {
    return request.request.client == 1 ? Verdict::kSkipClient : Verdict::kTake;
  };
  PushOf(1, 1, 50);
  PushOf(1, 2, 50);
  PushOf(2, 3, 50);
  queue_.BeginPass();
  EXPECT_EQ(queue_.Dequeue(skip_client)->call, 3u);
  EXPECT_EQ(queue_.Dequeue(skip_client), nullptr);
  EXPECT_EQ(Dequeue(), 1u);
  EXPECT_EQ(Dequeue(), 2u);
}

TEST_F(FairQueueTest, NoRequestOvertakesAStop) {
  Push(1, 50);
  Push(2, 50);
  const auto stop = [](QueuedRequest& request) {
    return request.call == 1 ? Verdict::kStop : Verdict::kTake;
  };
  for (int i = 0; i < 3; ++i) {
    queue_.BeginPass();
    EXPECT_EQ(queue_.Dequeue(stop), nullptr);
  }
  EXPECT_EQ(Dequeue(), 1u);
}

TEST_F(FairQueueTest, DropsDeadRequestsAnywhereInTheQueue) {
  const absl::Time now = absl::FromUnixSeconds(50);
  const auto cancelled = std::make_shared<Cancellation>();
  const auto other = std::make_shared<Cancellation>();
  Push(1, 10);
  Push(1, 10, cancelled);
  Push(1, 10, other, now);
  Push(2, 10, cancelled);
  Push(3, 10, nullptr, now + absl::Seconds(1));
  cancelled->Cancel();
  EXPECT_EQ(queue_.earliest_deadline(), now);
  std::vector<DroppedRequest> dropped;
  queue_.DropDead(now, &dropped);
  ASSERT_EQ(dropped.size(), 3u);
  EXPECT_EQ(dropped[0].status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(dropped[1].status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(dropped[2].status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(queue_.tokens(), 20);
  EXPECT_EQ(queue_.earliest_deadline(), now + absl::Seconds(1));
  EXPECT_EQ(Dequeue(), 1u);
  EXPECT_EQ(Dequeue(), 3u);
  EXPECT_EQ(Dequeue(), 0u);
}

TEST_F(FairQueueTest, SearchesForCancelledCallsInTurn) {
  constexpr int kCalls = 1000;
  std::vector<std::shared_ptr<Cancellation>> cancellations;
  for (int i = 0; i < kCalls; ++i) {
    cancellations.push_back(std::make_shared<Cancellation>());
    Push(i + 1, 10, cancellations.back());
  }
  const absl::Time now = absl::FromUnixSeconds(50);
  std::vector<DroppedRequest> dropped;
  queue_.DropDead(now, &dropped);
  for (int i = 0; i < kCalls; ++i) {
    if (i % 3 == 0) cancellations[i]->Cancel();
  }
  // Other requests are taken and pushed meanwhile.
  std::set<CallId> taken;
  for (size_t looked = 0; looked <= kCalls; looked += FairQueue::kLooks) {
    queue_.DropDead(now, &dropped);
    for (int i = 0; i < 5; ++i) taken.insert(Dequeue());
    Push(kCalls + 1 + looked, 10);
  }
  std::set<CallId> gone(taken);
  for (const DroppedRequest& one : dropped) gone.insert(one.request->call);
  EXPECT_EQ(gone.size(), taken.size() + dropped.size());
  for (int i = 0; i < kCalls; i += 3) EXPECT_TRUE(gone.contains(i + 1)) << i;
  for (const DroppedRequest& one : dropped) {
    EXPECT_EQ((one.request->call - 1) % 3, 0u);
  }
}

TEST_F(FairQueueTest, NoDeadlineIsMissedAmongMany) {
  const absl::Time now = absl::FromUnixSeconds(50);
  for (int i = 0; i < 1000; ++i) {
    Push(i + 1, 10, nullptr, now + absl::Seconds(i % 10));
  }
  for (int second = 0; second < 10; ++second) {
    std::vector<DroppedRequest> dropped;
    queue_.DropDead(now + absl::Seconds(second), &dropped);
    EXPECT_EQ(dropped.size(), 100u);
  }
  EXPECT_EQ(queue_.requests(), 0);
  EXPECT_EQ(queue_.earliest_deadline(), absl::InfiniteFuture());
}

// Calls 1.. are of client 1 and calls 10001.. of client 2.
TEST_F(FairQueueTest, AClientWithManyCallsGetsNoMoreThanOneWithFew) {
  for (int i = 0; i < 2000; ++i) PushOf(1, 1 + i, 60);
  for (int i = 0; i < 300; ++i) PushOf(2, 10001 + i % 3, 90);
  std::map<bool, int64_t> tokens;
  for (int i = 0; i < 500; ++i) {
    const CallId call = Dequeue();
    tokens[call > 10000] += call > 10000 ? 90 : 60;
  }
  EXPECT_NEAR(tokens[false], tokens[true], 200);
}

TEST_F(FairQueueTest, AnotherCallDoesNotMoveItsClientsTurn) {
  for (ClientId client = 1; client <= 4; ++client) {
    PushOf(client, client, 90);
    PushOf(1, 10 + client, 90);
  }
  for (CallId call = 1; call <= 4; ++call) EXPECT_EQ(Dequeue(), call);
  for (CallId call = 11; call <= 14; ++call) EXPECT_EQ(Dequeue(), call);
  EXPECT_EQ(Dequeue(), 0u);
}

TEST_F(FairQueueTest, ALoneRequestPassesAClientOfManyCalls) {
  for (int i = 0; i < 2048; ++i) PushOf(1, 1 + i, 60);
  for (int i = 0; i < 10; ++i) Dequeue();
  PushOf(2, 10001, 60);
  int before = 0;
  while (Dequeue() != 10001) ++before;
  EXPECT_LE(before, 3);  // at most one turn of the other client
}

// A cheap call does not wait until its client can pay for an expensive one.
TEST_F(FairQueueTest, AnExpensiveCallDelaysOnlyItself) {
  PushOf(1, 1, 100'000);
  for (int i = 0; i < 100; ++i) PushOf(2, 10001 + i, 50);
  PushOf(1, 2, 50);
  int before = 0;
  while (Dequeue() != 2) ++before;
  EXPECT_LE(before, 3);
}

TEST_F(FairQueueTest, BoundsTheTokensTakenBeforeACall) {
  EXPECT_EQ(queue_.TokensBefore(1, 1, 50), 0);
  for (int i = 0; i < 50; ++i) PushOf(1, 1, 60);          // a stream
  for (int i = 0; i < 50; ++i) PushOf(1, 2 + i, 60);      // and single calls
  EXPECT_EQ(queue_.TokensBefore(1, 1000, 50), 51 * 100);  // a turn of each
  EXPECT_EQ(queue_.TokensBefore(1, 1, 50), 6000);         // after all
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 50), 100);       // a turn of client 1
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 5000), 5000);
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 50000), 6000);
  PushOf(2, 2000, 40);
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 50), 40 + 100);
}

TEST_F(FairQueueTest, CountsCallsInTransitIfAsked) {
  for (int i = 0; i < 50; ++i) PushOf(1, 1 + i, 60);
  for (int i = 0; i < 30; ++i) queue_.AddInTransit(1);
  // Calls in transit count only if `tokens_per_call` is given.
  EXPECT_EQ(queue_.TokensBefore(1, 1000, 50), 3000);
  EXPECT_EQ(queue_.TokensBefore(1, 1000, 50, 40), 3000 + 30 * 40);
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 50, 40), 100);  // a turn of client 1
  // A call in transit of another client, which has no waiting request.
  queue_.AddInTransit(2);
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 50), 100);
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 50, 40), 40 + 100);
  EXPECT_EQ(queue_.TokensBefore(3, 1000, 50), 100);
  EXPECT_EQ(queue_.TokensBefore(3, 1000, 50, 40), 2 * 100);
  // The clients may have left the queue and come back.
  while (queue_.requests() > 0) Dequeue();
  EXPECT_EQ(queue_.TokensBefore(1, 1000, 50, 40), 30 * 40 + 40);
  EXPECT_EQ(queue_.TokensBefore(1, 1000, 50), 0);
  PushOf(2, 2000, 60);
  queue_.RemoveInTransit(2);
  EXPECT_EQ(queue_.TokensBefore(2, 1000, 50, 40), 60 + 110);
  for (int i = 0; i < 30; ++i) queue_.RemoveInTransit(1);
  EXPECT_EQ(queue_.TokensBefore(1, 1000, 50, 40), 60);
  Dequeue();
  EXPECT_EQ(queue_.TokensBefore(1, 1000, 50, 40), 0);
}

TEST_F(FairQueueTest, ADroppedRequestIsNotPaidFor) {
  Push(1, 30);
  Push(1, 80);
  Push(2, 30);
  std::vector<DroppedRequest> late;
  const auto taken = queue_.Dequeue(
      [](QueuedRequest& request) {
        return request.cost.tokens == 30 ? Verdict::kDrop : Verdict::kTake;
      },
      &late);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->cost.tokens, 80);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(queue_.tokens(), 30);
  EXPECT_EQ(Dequeue(), 2u);
  EXPECT_EQ(queue_.requests(), 0);
}

// Passes without room, or with room for one call only, change no client's
// share.
TEST_F(FairQueueTest, WaitingForRoomEarnsNothing) {
  for (int i = 0; i < 3000; ++i) {
    Push(1, 10);
    Push(2, 70);
    Push(3, 450);
  }
  std::map<CallId, int64_t> tokens;
  for (int pass = 0; pass < 2000; ++pass) {
    queue_.BeginPass();
    for (int i = 0; i < 5; ++i) {
      const auto none =
          queue_.Dequeue([](QueuedRequest&) { return Verdict::kSkip; });
      EXPECT_EQ(none, nullptr);
    }
    queue_.BeginPass();
    const auto taken =
        queue_.Dequeue([](QueuedRequest&) { return Verdict::kTake; });
    tokens[taken->call] += taken->cost.tokens;
  }
  for (const auto& [call, sum] : tokens) {
    EXPECT_NEAR(sum, tokens[1], 600) << call;
  }
}

TEST_F(FairQueueTest, DropAllLeavesNothing) {
  for (int i = 0; i < 5; ++i) Push(i % 2, 10, nullptr, absl::UnixEpoch());
  EXPECT_EQ(queue_.earliest_deadline(), absl::UnixEpoch());
  std::vector<DroppedRequest> dropped;
  queue_.DropAll(absl::UnavailableError("bye"), &dropped);
  EXPECT_EQ(dropped.size(), 5u);
  EXPECT_EQ(queue_.requests(), 0);
  EXPECT_EQ(queue_.tokens(), 0);
  EXPECT_EQ(queue_.earliest_deadline(), absl::InfiniteFuture());
  Push(1, 10);
  EXPECT_EQ(Dequeue(), 1u);
}

}  // namespace
}  // namespace trivium
