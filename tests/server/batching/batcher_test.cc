#include "server/batching/batcher.h"

#include <atomic>
#include <thread>

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

class BatcherTest : public testing::Test {
 protected:
  BatcherTest() {
    puppets_.options.gate = &gate_;
    puppets_.options.end_bias = -100;
    options_.clock = &clock_;
  }
  ~BatcherTest() override {
    gate_.Open();
    batcher_.reset();
    puppets_.ExpectCleanUse();
  }

  void Create() {
    std::vector<Batcher::ModelEngines> models;
    for (int i = 0; i < models_; ++i) {
      models.push_back(puppets_.MakeEngines(options_.workers));
    }
    auto batcher = Batcher::Create(options_, std::move(models));
    ASSERT_TRUE(batcher.ok()) << batcher.status();
    batcher_ = *std::move(batcher);
  }
  // Submits one request that is expected to be accepted.
  std::shared_ptr<RecordingObserver> Submit(Request request) {
    return Submit(batcher_->NewCall(), std::move(request));
  }
  std::shared_ptr<RecordingObserver> Submit(CallId call, Request request) {
    auto observer = std::make_shared<RecordingObserver>();
    request.observer = observer;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    const absl::Status status = batcher_->Submit(call, std::move(requests));
    EXPECT_TRUE(status.ok()) << status;
    return observer;
  }
  static Request Short(int max_new_tokens = 4, int32_t first = 2) {
    return MakeRequest(Source(5, first), Greedy(max_new_tokens), nullptr);
  }
  // Starts a request that keeps worker and engine in a held step.
  std::shared_ptr<RecordingObserver> Occupy(int max_new_tokens = 100) {
    gate_.Close();
    auto observer = Submit(Short(max_new_tokens, 500));
    gate_.WaitHeld();
    return observer;
  }

  StepGate gate_;
  FakeClock clock_;
  Puppets puppets_;
  int models_ = 1;
  Batcher::Options options_;
  std::unique_ptr<Batcher> batcher_;
};

using Code = absl::StatusCode;

TEST_F(BatcherTest, RefusesNonsenseOptions) {
  std::vector<Batcher::ModelEngines> models;
  models.push_back(puppets_.MakeEngines(1));
  options_.workers = 2;
  EXPECT_EQ(Batcher::Create(options_, std::move(models)).status().code(),
            Code::kInvalidArgument);
  options_.workers = 0;
  EXPECT_EQ(Batcher::Create(options_, {}).status().code(),
            Code::kInvalidArgument);
}

TEST_F(BatcherTest, AnswersARequest) {
  Create();
  const auto result = Submit(Short())->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->hypotheses[0].ids.size(), 4u);
}

TEST_F(BatcherTest, TakesAWholeCallOrNothing) {
  options_.max_waiting_tokens = 100;
  Create();
  const auto occupied = Occupy(50);
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  const auto call_of = [&observers](int requests) {
    std::vector<Request> call;
    for (int i = 0; i < requests; ++i) {
      observers.push_back(std::make_shared<RecordingObserver>());
      call.push_back(Short(15));
      call.back().observer = observers.back();
    }
    return call;
  };
  EXPECT_TRUE(batcher_->Submit(batcher_->NewCall(), call_of(3)).ok());
  EXPECT_EQ(batcher_->free_waiting_tokens(), 40);
  EXPECT_EQ(batcher_->Submit(batcher_->NewCall(), call_of(3)).code(),
            Code::kResourceExhausted);
  EXPECT_EQ(batcher_->free_waiting_tokens(), 40);
  EXPECT_EQ(batcher_->RetryAfter() >= absl::Milliseconds(10), true);
  const absl::Status too_big =
      batcher_->Submit(batcher_->NewCall(), call_of(6));
  EXPECT_EQ(too_big.code(), Code::kInvalidArgument);
  EXPECT_EQ(too_big.message().find("5: "), 0u) << too_big;
  auto invalid = call_of(2);
  invalid[1].source.ids.clear();
  const absl::Status refused =
      batcher_->Submit(batcher_->NewCall(), std::move(invalid));
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.message().find("1: "), 0u) << refused;
  gate_.Open();
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  for (size_t i = 0; i < observers.size(); ++i) {
    EXPECT_EQ(observers[i]->answers(), i < 3 ? 1 : 0) << i;
  }
  EXPECT_EQ(batcher_->free_waiting_tokens(), 100);
}

TEST_F(BatcherTest, RefusesUnknownModelsAndMissingObservers) {
  Create();
  Request request = Short();
  request.model = 1;
  request.observer = std::make_shared<RecordingObserver>();
  std::vector<Request> call;
  call.push_back(request);
  EXPECT_EQ(batcher_->Submit(1, call).code(), Code::kInvalidArgument);
  call[0].model = 0;
  call[0].observer = nullptr;
  EXPECT_EQ(batcher_->Submit(1, call).code(), Code::kInvalidArgument);
  EXPECT_TRUE(batcher_->Submit(1, {}).ok());
}

TEST_F(BatcherTest, ALoneRequestStartsWithinTwoIterationsOfALongStream) {
  options_.max_waiting_tokens = 1 << 24;
  Create();
  gate_.Close();
  std::vector<Request> stream;
  const auto observer = std::make_shared<RecordingObserver>();
  for (int i = 0; i < 10000; ++i) {
    stream.push_back(
        MakeRequest(Source(10 + i % 60, 2 + i), Greedy(40 + i % 9), observer));
  }
  ASSERT_TRUE(batcher_->Submit(batcher_->NewCall(), std::move(stream)).ok());
  for (int i = 0; i < 100; ++i) gate_.StepOnce();  // the batch is full
  // Samples tell of their first token in the step that they start with.
  Request lone = MakeRequest(Source(20), Samples(4, 92, 1), nullptr);
  lone.stream = true;
  const auto heard = Submit(std::move(lone));
  gate_.StepOnce();  // the step under way
  EXPECT_EQ(heard->pieces(), 0);
  gate_.StepOnce();
  gate_.StepOnce();
  EXPECT_EQ(heard->pieces() > 0, true);
}

TEST_F(BatcherTest, DropsTheCancelledQueuedAndRunning) {
  options_.max_rows = 1;
  Create();
  gate_.Close();
  const auto cancellation = std::make_shared<Cancellation>();
  Request request = Short(50);
  request.cancellation = cancellation;
  const auto running = Submit(request);
  gate_.WaitHeld();
  const auto queued = Submit(request);
  const auto other = Submit(Short(3));
  cancellation->Cancel();
  gate_.StepOnce();  // its next step is the other request's
  EXPECT_EQ(running->Wait().status().code(), Code::kCancelled);
  EXPECT_EQ(queued->Wait().status().code(), Code::kCancelled);
  EXPECT_FALSE(other->done());
  gate_.Open();
  EXPECT_TRUE(other->Wait().ok());
}

TEST_F(BatcherTest, DropsTheLateQueuedAndRunning) {
  options_.max_rows = 1;
  Create();
  gate_.Close();
  Request request = Short(50);
  request.deadline = clock_.Now() + absl::Seconds(5);
  const auto running = Submit(request);
  gate_.WaitHeld();
  const auto queued = Submit(request);
  const auto other = Submit(Short(3));
  clock_.Advance(absl::Seconds(4));
  gate_.StepOnce();
  EXPECT_FALSE(running->done());
  clock_.Advance(absl::Seconds(1));
  gate_.StepOnce();
  EXPECT_EQ(running->Wait().status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(queued->Wait().status().code(), Code::kDeadlineExceeded);
  gate_.Open();
  EXPECT_TRUE(other->Wait().ok());
}

TEST_F(BatcherTest, AnIdleWorkerNoticesTheDeadlineOfWhatAnotherShouldTake) {
  options_.workers = 2;
  options_.clock = Clock::Real();
  Create();
  // Worker A holds a source in a step that does not end; the same source is
  // left to A while A has less than its share.
  const auto first = Occupy(2);
  Request same = Short(100, 500);
  same.deadline = absl::Now() + absl::Milliseconds(30);
  const auto second = Submit(same);
  EXPECT_EQ(second->Wait().status().code(), Code::kDeadlineExceeded);
  EXPECT_FALSE(first->done());
}

TEST_F(BatcherTest, SharesASourceAcrossCallsOnOneWorker) {
  options_.workers = 2;
  Create();
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  observers.push_back(Submit(Short(20)));
  gate_.WaitHeld();
  observers.push_back(Submit(Short(60)));
  gate_.StepOnce();
  gate_.Open();
  for (const auto& observer : observers) ASSERT_TRUE(observer->Wait().ok());
  EXPECT_TRUE(observers[1]->Wait()->shared_source);
  batcher_.reset();
  EXPECT_TRUE(puppets_.log(0).steps().empty() ||
              puppets_.log(1).steps().empty());
}

TEST_F(BatcherTest, KeepsBothWorkersBusy) {
  options_.workers = 2;
  Create();
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 2; ++i) observers.push_back(Submit(Short(20, 10 * i)));
  gate_.WaitHeld(2);
  for (int i = 2; i < 40; ++i) observers.push_back(Submit(Short(20, 10 * i)));
  gate_.Open();
  for (const auto& observer : observers) ASSERT_TRUE(observer->Wait().ok());
}

TEST_F(BatcherTest, ServesModelsInTurns) {
  models_ = 3;
  Create();
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 3; ++i) {
    Request request = Short(4);
    request.model = i;
    observers.push_back(Submit(std::move(request)));
    gate_.WaitHeld();
  }
  for (int i = 0; i < 6; ++i) gate_.StepOnce();
  for (int model = 0; model < 3; ++model) {
    EXPECT_EQ(puppets_.log(model).steps().size(), 2u);
  }
  gate_.Open();
  for (const auto& observer : observers) EXPECT_TRUE(observer->Wait().ok());
}

TEST_F(BatcherTest, GoesOnAfterAnEngineError) {
  std::atomic<bool> fail{true};
  puppets_.options.on_step = [&fail](const StepPlan&) {
    return fail ? absl::UnknownError("boom") : absl::OkStatus();
  };
  Create();
  EXPECT_EQ(Submit(Short())->Wait().status().code(), Code::kInternal);
  fail = false;
  EXPECT_TRUE(Submit(Short())->Wait().ok());
}

TEST_F(BatcherTest, DrainFinishesWhatWasAccepted) {
  options_.max_rows = 2;
  Create();
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 9; ++i) observers.push_back(Submit(Short()));
  gate_.WaitHeld();
  std::thread opener([this] { gate_.Open(); });
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  opener.join();
  for (const auto& observer : observers) {
    EXPECT_EQ(observer->answers(), 1);
    EXPECT_TRUE(observer->Wait().ok());
  }
  Request request = Short();
  request.observer = std::make_shared<RecordingObserver>();
  std::vector<Request> call;
  call.push_back(request);
  EXPECT_EQ(batcher_->Submit(1, call).code(), Code::kUnavailable);
}

TEST_F(BatcherTest, DrainCancelsTheRestWhenTimeIsUp) {
  options_.max_rows = 2;
  Create();
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 9; ++i) observers.push_back(Submit(Short(100)));
  gate_.WaitHeld();
  std::thread drain(
      [this] { EXPECT_FALSE(batcher_->Drain(absl::ZeroDuration())); });
  // Refused means that the drain has begun, and at once cancelled.
  for (;;) {
    Request request = Short(100);
    const auto observer = std::make_shared<RecordingObserver>();
    request.observer = observer;
    std::vector<Request> call;
    call.push_back(std::move(request));
    if (!batcher_->Submit(1, std::move(call)).ok()) break;
    observers.push_back(observer);
    std::this_thread::yield();
  }
  gate_.Open();
  drain.join();
  for (const auto& observer : observers) {
    EXPECT_EQ(observer->answers(), 1);
    EXPECT_EQ(observer->Wait().status().code(), Code::kUnavailable);
  }
}

TEST_F(BatcherTest, TheDestructorAnswersEverythingOnce) {
  options_.workers = 2;
  options_.max_rows = 2;
  Create();
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 50; ++i) {
    observers.push_back(Submit(Short(100, 10 * i)));
  }
  gate_.WaitHeld(2);
  std::thread opener([this] { gate_.Open(); });
  batcher_.reset();
  opener.join();
  for (const auto& observer : observers) EXPECT_EQ(observer->answers(), 1);
}

// What the metrics hear.
class CountingObserver : public BatchingObserver {
 public:
  void OnIteration(const Iteration& iteration) override {
    ++iterations;
    decoder_rows += iteration.decoder_rows;
  }
  void OnQueued(int, int64_t tokens, int64_t requests) override {
    waiting_tokens = tokens;
    waiting_requests = requests;
  }
  void OnStarted(int, absl::Duration) override { ++started; }
  void OnSharedSource(int) override { ++shared; }
  void OnFirstToken(int, absl::Duration) override { ++first_tokens; }
  void OnNextToken(int, absl::Duration) override { ++next_tokens; }
  void OnDeadlineMissed(int, const char* stage) override {
    ++(std::string(stage) == "queued" ? late_queued : late_running);
  }
  void OnRejected(int, const char* reason) override { rejected = reason; }
  void OnBlocks(int, int, int used, int total) override {
    most_blocks = std::max<int>(most_blocks, used);
    total_blocks = total;
  }

  std::atomic<int> iterations{0}, decoder_rows{0}, started{0}, shared{0},
      first_tokens{0}, next_tokens{0}, late_queued{0}, late_running{0},
      most_blocks{0}, total_blocks{0};
  std::atomic<int64_t> waiting_tokens{-1}, waiting_requests{-1};
  std::atomic<const char*> rejected{""};
};

TEST_F(BatcherTest, TellsTheObserverWhatHappens) {
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
