#include "server/batching/request_queue.h"

#include "server/batching/dispatcher.h"
#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

using Verdict = FairQueue::Verdict;

constexpr CallId kInteractiveCall = 1, kBackgroundCall = 2;

std::unique_ptr<QueuedRequest> RequestOf(CallId call, int64_t tokens) {
  auto queued = std::make_unique<QueuedRequest>();
  queued->call = call;
  queued->cost.tokens = tokens;
  queued->source_key = call;
  queued->request.priority =
      call == kBackgroundCall ? Priority::kBackground : Priority::kInteractive;
  return queued;
}

TEST(RequestQueueTest, OnlyBackgroundRequestsWaitForTheOtherPriority) {
  RequestQueue queue(100);
  for (int i = 0; i < 10; ++i) {
    queue.Push(RequestOf(kInteractiveCall, 30));
    queue.Push(RequestOf(kBackgroundCall, 50));
  }
  EXPECT_EQ(queue.tokens(), 800);
  EXPECT_EQ(queue.requests(), 20);
  EXPECT_EQ(queue.TokensBefore({7, Priority::kInteractive}, 7, 1000), 300);
  EXPECT_EQ(queue.TokensBefore({7, Priority::kBackground}, 7, 1000), 800);
  queue.AddInTransit({7, Priority::kInteractive});
  EXPECT_EQ(queue.calls_in_transit({7, Priority::kInteractive}), 1);
  EXPECT_EQ(queue.calls_in_transit({7, Priority::kBackground}), 0);
  EXPECT_EQ(queue.TokensBefore({8, Priority::kBackground}, 8, 1000, 40), 840);
  queue.RemoveInTransit({7, Priority::kInteractive});
}

class PriorityDispatchTest : public testing::Test {
 protected:
  PriorityDispatchTest()
      : dispatcher_(2, 256), queue_(dispatcher_.AddQueue()) {}

  void Push(CallId call) { queue_->Push(RequestOf(call, 50)); }
  void BeginBoundary(int worker, const Dispatcher::Pending& pending) {
    dispatcher_.BeginBoundary(worker, pending);
    queue_->BeginPass();
  }
  // Returns the call that the worker takes; 0: none. There is no room for the
  // call `full`.
  CallId Dequeue(int worker, bool lacks_background = false, CallId full = 0) {
    const auto taken = dispatcher_.Dequeue(
        worker, queue_,
        [full](QueuedRequest& request) {
          return request.call == full ? Verdict::kStop : Verdict::kTake;
        },
        nullptr, lacks_background);
    return taken == nullptr ? 0 : taken->call;
  }

  Dispatcher dispatcher_;
  RequestQueue* const queue_;
};

TEST_F(PriorityDispatchTest, InteractiveRequestsComeFirst) {
  for (const CallId call :
       {kBackgroundCall, kBackgroundCall, kInteractiveCall}) {
    Push(call);
  }
  for (int i = 0; i < 20; ++i) Push(kBackgroundCall);  // that others take, too
  BeginBoundary(0, {});
  EXPECT_EQ(Dequeue(0), kInteractiveCall);
  EXPECT_EQ(Dequeue(0), kBackgroundCall);
}

TEST_F(PriorityDispatchTest, AWorkerWithoutBackgroundRequestsTakesOneFirst) {
  for (int i = 0; i < 20; ++i) {
    Push(kInteractiveCall);
    Push(kBackgroundCall);
  }
  BeginBoundary(0, {});
  EXPECT_EQ(Dequeue(0, /*lacks_background=*/true), kBackgroundCall);
  // The worker keeps room for the background request.
  EXPECT_EQ(Dequeue(0, /*lacks_background=*/true, /*full=*/kBackgroundCall),
            0u);
  EXPECT_EQ(Dequeue(0, /*lacks_background=*/false, /*full=*/kBackgroundCall),
            kInteractiveCall);
}

// Otherwise background requests would use the room that it waits for.
TEST_F(PriorityDispatchTest, NoRequestOvertakesAnInteractiveOneThatDoesNotFit) {
  for (int i = 0; i < 20; ++i) {
    Push(kInteractiveCall);
    Push(kBackgroundCall);
  }
  BeginBoundary(0, {});
  EXPECT_EQ(Dequeue(0, /*lacks_background=*/false, /*full=*/kInteractiveCall),
            0u);
}

TEST_F(PriorityDispatchTest, InteractiveWorkIsSharedWhateverElseRuns) {
  Push(kInteractiveCall);
  // This worker has more work, but none of it is interactive.
  BeginBoundary(1, {.tokens = 100, .interactive_tokens = 100});
  EXPECT_EQ(Dequeue(1), 0u);
  BeginBoundary(0, {.tokens = 9000, .interactive_tokens = 0});
  EXPECT_EQ(Dequeue(0), kInteractiveCall);
}

}  // namespace
}  // namespace trivium
