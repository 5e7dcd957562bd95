#include <algorithm>
#include <atomic>
#include <string>

#include "tests/server/batching/batcher_fixture.h"

namespace trivium {
namespace {

using BatcherObserverTest = BatcherFixture;

// Records the events that metrics receive.
class CountingObserver : public BatchingObserver {
 public:
  void OnIteration(const Iteration& iteration) override {
    ++iterations;
    decoder_rows += iteration.decoder_rows;
  }
  void OnQueued(const ServedModel&, int64_t tokens, int64_t requests) override {
    waiting_tokens = tokens;
    waiting_requests = requests;
  }
  void OnStarted(const ServedModel&, Priority, absl::Duration) override {
    ++started;
  }
  void OnSharedSource(const ServedModel&) override { ++shared; }
  void OnFirstToken(const ServedModel&, absl::Duration) override {
    ++first_tokens;
  }
  void OnNextToken(const ServedModel&, absl::Duration) override {
    ++next_tokens;
  }
  void OnDeadlineMissed(const ServedModel&, const char* stage) override {
    ++(std::string(stage) == "queued" ? late_queued : late_running);
  }
  void OnRejected(const ServedModel&, const char* reason) override {
    rejected = reason;
  }
  void OnBlocks(int, const ServedModel&, int used, int total) override {
    most_blocks = std::max<int>(most_blocks, used);
    total_blocks = total;
  }

  std::atomic<int> iterations{0}, decoder_rows{0}, started{0}, shared{0},
      first_tokens{0}, next_tokens{0}, late_queued{0}, late_running{0},
      most_blocks{0}, total_blocks{0};
  std::atomic<int64_t> waiting_tokens{-1}, waiting_requests{-1};
  std::atomic<const char*> rejected{""};
};

TEST_F(BatcherObserverTest, ReportsEveryEventToTheObserver) {
  CountingObserver observer;
  options_.observer = &observer;
  options_.max_rows = 2;
  Create();
  gate_.Close();
  const auto first = Submit(Short(4));
  gate_.WaitHeld();
  const auto second = Submit(Short(4));
  Request late = Short(4, 90);
  late.deadline = clock_.Now() + absl::Seconds(1);
  const auto third = Submit(late);
  EXPECT_EQ(observer.waiting_requests, 2);
  EXPECT_EQ(observer.waiting_tokens, 18);
  gate_.StepOnce();
  clock_.Advance(absl::Seconds(2));
  gate_.Open();
  EXPECT_TRUE(first->Wait().ok());
  EXPECT_TRUE(second->Wait().ok());
  EXPECT_FALSE(third->Wait().ok());
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  Request request = Short();
  request.observer = std::make_shared<RecordingObserver>();
  std::vector<Request> call;
  call.push_back(request);
  EXPECT_FALSE(batcher_->Submit(1, call).ok());
  EXPECT_EQ(std::string(observer.rejected), "draining");
  EXPECT_EQ(observer.waiting_requests, 0);
  EXPECT_EQ(observer.started, 2);
  EXPECT_EQ(observer.shared, 1);
  EXPECT_EQ(observer.first_tokens, 2);
  EXPECT_EQ(observer.next_tokens, 6);
  EXPECT_EQ(observer.decoder_rows, 8);
  EXPECT_EQ(observer.iterations, 5);
  EXPECT_EQ(observer.late_queued, 1);
  EXPECT_EQ(observer.late_running, 0);
  EXPECT_GT(observer.most_blocks, 0);
  EXPECT_EQ(observer.total_blocks, 1024);
}

}  // namespace
}  // namespace trivium
