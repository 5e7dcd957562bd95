// The phases of requests that a PhaseListener receives.
#include "server/batching/request_phases.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/server/batching/batcher_fixture.h"
#include "tests/server/batching/running_batch_fixture.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

// "queue 0..3", in seconds.
class PhaseRecorder : public PhaseListener {
 public:
  explicit PhaseRecorder(absl::Time begin) : begin_(begin) {}
  void OnPhase(RequestPhase phase, absl::Time begin, absl::Time end) override {
    MutexLock lock(&mutex_);
    heard_.push_back(std::string(PhaseName(phase)) + " " + Second(begin) +
                     ".." + Second(end));
  }
  std::vector<std::string> heard() const {
    MutexLock lock(&mutex_);
    return heard_;
  }

 private:
  std::string Second(absl::Time time) const {
    return std::to_string(absl::ToInt64Seconds(time - begin_));
  }

  const absl::Time begin_;
  mutable Mutex mutex_;
  std::vector<std::string> heard_ ABSL_GUARDED_BY(mutex_);
};

class RequestPhasesTest : public RunningBatchFixture {
 protected:
  RequestPhasesTest() { puppets_.options.end_bias = -100; }

  // A second passes before each iteration.
  void IterateAll() {
    while (!batch_->empty()) {
      clock_.Advance(absl::Seconds(1));
      batch_->Iterate();
    }
  }
  // Submitted two seconds before it joins.
  void Join(Request request) {
    recorder_ = std::make_shared<PhaseRecorder>(clock_.Now());
    request.phases = recorder_;
    auto observer = std::make_shared<RecordingObserver>();
    request.observer = observer;
    auto queued = Queued(1, std::move(request), puppets_.options.limits);
    queued->submitted = clock_.Now();
    clock_.Advance(absl::Seconds(2));
    batch_->Add(std::move(queued));
    kept_.push_back(std::move(observer));
  }

  std::shared_ptr<PhaseRecorder> recorder_;
  std::vector<std::shared_ptr<RecordingObserver>> kept_;
};

TEST_F(RequestPhasesTest, ReportsATranslation) {
  Create();
  Join(MakeRequest(Source(20), Greedy(5), nullptr));
  IterateAll();
  // The step that ends the source gives the first token.
  EXPECT_THAT(recorder_->heard(),
              ElementsAre("queue 0..2", "encode 2..3", "decode 3..7"));
}

TEST_F(RequestPhasesTest, ReportsALongPrefixAsOnePhase) {
  options_.max_rows = 16;
  Create();
  Request request = MakeRequest(Source(4), Greedy(3), nullptr);
  for (int i = 0; i < 40; ++i) request.prefix.push_back(i % 30 + 2);
  Join(request);
  IterateAll();
  // 41 tokens are read 16 at a time, and all of that is one phase.
  EXPECT_THAT(recorder_->heard(), ElementsAre("queue 0..2", "encode 2..3",
                                              "prefill 3..5", "decode 5..7"));
}

TEST_F(RequestPhasesTest, ReportsAnEncoding) {
  Create();
  Request request = MakeRequest(Source(20), std::nullopt, nullptr);
  request.states = States::kAll;
  Join(request);
  IterateAll();
  EXPECT_THAT(recorder_->heard(), ElementsAre("queue 0..2", "encode 2..3"));
}

TEST_F(RequestPhasesTest, ReportsCancelledAndAbortedRequests) {
  Create();
  Request request = MakeRequest(Source(20), Greedy(50), nullptr);
  const auto cancellation = std::make_shared<Cancellation>();
  request.cancellation = cancellation;
  Join(request);
  batch_->Iterate();
  clock_.Advance(absl::Seconds(4));
  cancellation->Cancel();
  batch_->DropDead();
  EXPECT_THAT(recorder_->heard(),
              ElementsAre("queue 0..2", "encode 2..2", "decode 2..6"));
  // Cancelled before it started.
  Join(MakeRequest(Source(20), Greedy(50), nullptr));
  batch_->Abort(absl::UnavailableError("bye"));
  EXPECT_THAT(recorder_->heard(), ElementsAre("queue 0..2"));
}

// The source of a suspended request is encoded again, but it stays in kDecode.
TEST_F(RequestPhasesTest, SuspendedRequestsStayInTheDecodePhase) {
  puppets_.options.limits.total_blocks = 30;
  Create();
  Join(MakeRequest(Source(8, 2), Greedy(40), nullptr));
  Join(MakeRequest(Source(8, 12), Greedy(40), nullptr));
  Join(MakeRequest(Source(8, 22), Greedy(40), nullptr));
  IterateAll();
  const std::vector<std::string> heard = recorder_->heard();
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0], "queue 0..2");
  EXPECT_EQ(heard[1], "encode 2..3");
  EXPECT_THAT(heard[2], testing::StartsWith("decode 3.."));
}

using QueuedPhasesTest = BatcherFixture;

TEST_F(QueuedPhasesTest, ReportsRequestsDroppedFromTheQueue) {
  options_.max_rows = 1;
  Create();
  const auto running = Occupy();
  Request late = Short();
  late.deadline = clock_.Now() + absl::Seconds(5);
  const auto recorder = std::make_shared<PhaseRecorder>(clock_.Now());
  late.phases = recorder;
  const auto observer = Submit(late);
  clock_.Advance(absl::Seconds(6));
  gate_.StepOnce();
  EXPECT_EQ(observer->Wait().status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(recorder->heard(), ElementsAre("queue 0..6"));
}

}  // namespace
}  // namespace trivium
