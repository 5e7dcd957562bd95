#include "server/batching/dispatcher.h"

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

using Verdict = FairQueue::Verdict;

class DispatcherTest : public testing::Test {
 protected:
  DispatcherTest() : dispatcher_(2, 256), queue_(dispatcher_.AddQueue()) {}

  void Push(CallId call, int tokens, uint64_t source) {
    auto queued = std::make_unique<QueuedRequest>();
    queued->call = call;
    queued->cost.tokens = tokens;
    queued->source_key = source;
    queue_->Push(std::move(queued));
  }
  // Runs a boundary of a worker that has room for everything. Returns the calls
  // that it took.
  int Boundary(int worker, int64_t pending) {
    dispatcher_.BeginBoundary(worker, {pending, pending});
    queue_->BeginPass();
    int taken = 0;
    while (dispatcher_.Dequeue(worker, queue_,
                               [](QueuedRequest&) { return Verdict::kTake; })) {
      ++taken;
    }
    return taken;
  }

  Dispatcher dispatcher_;
  RequestQueue* const queue_;
};

TEST_F(DispatcherTest, GivesEachWorkerItsShare) {
  for (int i = 0; i < 100; ++i) Push(i, 50, i + 1);
  EXPECT_EQ(Boundary(0, 0), 50);
  EXPECT_EQ(Boundary(1, 0), 50);
}

TEST_F(DispatcherTest, LeavesALoneNewcomerToTheIdlerWorker) {
  EXPECT_EQ(Boundary(1, 0), 0);
  Push(1, 50, 1);
  EXPECT_EQ(Boundary(0, 1000), 0);
  EXPECT_EQ(Boundary(1, 0), 1);
}

TEST_F(DispatcherTest, PrefersTheWorkerThatHasTheSource) {
  Push(1, 50, 7);
  EXPECT_EQ(Boundary(0, 0), 1);
  Push(2, 50, 8);
  Push(3, 50, 7);
  EXPECT_EQ(Boundary(1, 0), 1);  // 8, not 7
  EXPECT_EQ(Boundary(0, 50), 1);
  dispatcher_.Finished(0, 7);
  dispatcher_.Finished(0, 7);
  // No worker holds the source any more.
  Push(4, 50, 7);
  EXPECT_EQ(Boundary(1, 0), 1);
}

TEST_F(DispatcherTest, TakesARequestThatItsHolderDidNotTake) {
  Push(1, 50, 7);
  EXPECT_EQ(Boundary(0, 0), 1);
  dispatcher_.BeginBoundary(0, {10, 10});
  Push(2, 50, 7);
  EXPECT_EQ(Boundary(1, 0), 0);
  // The holder has no room.
  dispatcher_.BeginBoundary(0, {10, 10});
  queue_->BeginPass();
  EXPECT_EQ(dispatcher_.Dequeue(0, queue_,
                                [](QueuedRequest&) { return Verdict::kStop; }),
            nullptr);
  EXPECT_EQ(Boundary(1, 0), 1);
}

TEST_F(DispatcherTest, TheNextHolderAlsoHasOneChance) {
  Dispatcher dispatcher(3, 256);
  RequestQueue* const queue = dispatcher.AddQueue();
  const auto push = [queue](CallId call, int tokens, uint64_t source) {
    auto queued = std::make_unique<QueuedRequest>();
    queued->call = call;
    queued->cost.tokens = tokens;
    queued->source_key = source;
    queue->Push(std::move(queued));
  };
  push(5, 1000, 8);  // so much waits that everybody is below its share
  // Takes only requests of `call`.
  const auto boundary = [&](int worker, CallId call) {
    dispatcher.BeginBoundary(worker, {});
    queue->BeginPass();
    return dispatcher.Dequeue(worker, queue, [call](QueuedRequest& request) {
      return request.call == call ? Verdict::kTake : Verdict::kSkip;
    }) != nullptr;
  };
  // A holder that has had many boundaries; another request waits for it.
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(boundary(0, 1));
  push(1, 50, 7);
  EXPECT_TRUE(boundary(0, 1));
  push(2, 50, 7);
  EXPECT_FALSE(boundary(1, 2));
  // Its request ends. The next holder has no room for the waiting request.
  dispatcher.Finished(0, 7);
  push(3, 50, 7);
  EXPECT_TRUE(boundary(2, 3));
  EXPECT_FALSE(boundary(2, 4));
  EXPECT_TRUE(boundary(1, 2));
}

TEST_F(DispatcherTest, SharingDoesNotLeaveAWorkerIdle) {
  Push(1, 50, 7);
  EXPECT_EQ(Boundary(0, 0), 1);
  for (int i = 0; i < 9; ++i) Push(2 + i, 50, 7);
  dispatcher_.BeginBoundary(0, {500, 500});  // more than half of all
  EXPECT_EQ(Boundary(1, 0), 9);
}

TEST_F(DispatcherTest, RequestsWithoutASourceHaveNoHolder) {
  Push(1, 50, kNoSourceKey);
  EXPECT_EQ(Boundary(0, 0), 1);
  Push(2, 50, kNoSourceKey);
  EXPECT_EQ(Boundary(1, 0), 1);
  dispatcher_.Finished(0, kNoSourceKey);
}

}  // namespace
}  // namespace trivium
