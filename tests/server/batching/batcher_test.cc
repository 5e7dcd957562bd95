#include "server/batching/batcher.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "tests/server/batching/batcher_fixture.h"

namespace trivium {
namespace {

using BatcherTest = BatcherFixture;
using Code = absl::StatusCode;

TEST_F(BatcherTest, RefusesInvalidOptions) {
  options_.workers = 0;
  EXPECT_EQ(Batcher::Create(options_).status().code(), Code::kInvalidArgument);
  options_.workers = 2;
  Create();
  EXPECT_EQ(
      batcher_->AddModel(ServedPuppet("other"), puppets_.MakeEngines(1)).code(),
      Code::kInvalidArgument);
  EXPECT_EQ(batcher_->AddModel(TheModel(), puppets_.MakeEngines(2)).code(),
            Code::kAlreadyExists);
}

// Runs in a process of its own, whose address space is limited to a few stacks.
TEST(BatcherDeathTest, MissingThreadsAreAnError) {
  const auto refused = [] {
    const rlimit none{512 << 20, 512 << 20};
    if (setrlimit(RLIMIT_AS, &none) != 0) _exit(2);
    Batcher::Options options;
    options.workers = 4096;
    _exit(absl::IsResourceExhausted(Batcher::Create(options).status()) ? 0 : 3);
  };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers map more than any such limit";
#endif
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(refused(), testing::ExitedWithCode(0), "");
}

TEST_F(BatcherTest, AnswersARequest) {
  Create();
  const auto result = Submit(Short())->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->hypotheses[0].ids.size(), 4u);
}

TEST_F(BatcherTest, AcceptsAWholeCallOrNothing) {
  options_.max_waiting_tokens = 140;
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
  // 80 tokens are left, but some of them are for other clients.
  EXPECT_EQ(batcher_->free_waiting_tokens({0}), 64);
  EXPECT_EQ(batcher_->free_waiting_tokens({1}), 71);
  const Submission full = batcher_->Submit(batcher_->NewCall(), call_of(4));
  EXPECT_EQ(full.status.code(), Code::kResourceExhausted);
  EXPECT_GE(full.retry_after, absl::Milliseconds(10));
  EXPECT_EQ(batcher_->free_waiting_tokens({0}), 64);
  const Submission too_big = batcher_->Submit(batcher_->NewCall(), call_of(8));
  EXPECT_EQ(too_big.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(too_big.request, 7);
  auto invalid = call_of(2);
  invalid[1].source.ids.clear();
  const Submission refused =
      batcher_->Submit(batcher_->NewCall(), std::move(invalid));
  EXPECT_EQ(refused.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.request, 1);
  gate_.Open();
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  for (size_t i = 0; i < observers.size(); ++i) {
    EXPECT_EQ(observers[i]->answers(), i < 3 ? 1 : 0) << i;
  }
  EXPECT_EQ(batcher_->free_waiting_tokens({0}), 140);
}

TEST_F(BatcherTest, RefusesUnknownModelsAndMissingObservers) {
  Create();
  Request request = Short();
  request.model = ServedPuppet("other");
  request.observer = std::make_shared<RecordingObserver>();
  std::vector<Request> call;
  call.push_back(request);
  EXPECT_EQ(batcher_->Submit(1, call).status.code(), Code::kNotFound);
  call[0].model = nullptr;
  EXPECT_EQ(batcher_->Submit(1, call).status.code(), Code::kInvalidArgument);
  call[0].model = TheModel();
  call[0].observer = nullptr;
  EXPECT_EQ(batcher_->Submit(1, call).status.code(), Code::kInvalidArgument);
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
  // Samples report their first token in their first step.
  Request lone = MakeRequest(Source(20), Samples(4, 92, 1), nullptr);
  lone.stream = true;
  const auto heard = Submit(std::move(lone));
  gate_.StepOnce();  // the step under way
  EXPECT_EQ(heard->pieces(), 0);
  gate_.StepOnce();
  gate_.StepOnce();
  EXPECT_GT(heard->pieces(), 0);
}

TEST_F(BatcherTest, DropsCancelledRequestsQueuedOrRunning) {
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

TEST_F(BatcherTest, DropsLateRequestsQueuedOrRunning) {
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

TEST_F(BatcherTest, AnIdleWorkerDropsALateRequestThatWaitsForABusyWorker) {
  options_.workers = 2;
  Create();
  // Worker A holds a source in a step that does not end. A request for the same
  // source is left to A while A has less than its share.
  const auto first = Occupy(2);
  Request same = Short(100, 500);
  same.deadline = clock_.Now() + absl::Seconds(30);
  const auto second = Submit(same);
  clock_.AwaitSleeper(same.deadline);  // worker B
  EXPECT_FALSE(second->done());
  clock_.Advance(absl::Seconds(30));
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
  Create();
  std::vector<ModelHandle> models = {TheModel()};
  for (const char* name : {"b", "c"}) {
    models.push_back(ServedPuppet(name));
    ASSERT_TRUE(
        batcher_->AddModel(models.back(), puppets_.MakeEngines(1)).ok());
  }
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 3; ++i) {
    Request request = Short(4);
    request.model = models[i];
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

TEST_F(BatcherTest, ContinuesAfterAnEngineError) {
  std::atomic<bool> fail{true};
  puppets_.options.on_step = [&fail](const StepPlan&) {
    return fail ? absl::UnknownError("boom") : absl::OkStatus();
  };
  Create();
  EXPECT_EQ(Submit(Short())->Wait().status().code(), Code::kInternal);
  fail = false;
  EXPECT_TRUE(Submit(Short())->Wait().ok());
}

}  // namespace
}  // namespace trivium
