// Engines whose steps do not return in time.
#include <vector>

#include "tests/server/batching/batcher_fixture.h"

namespace trivium {
namespace {

using Code = absl::StatusCode;

constexpr absl::Duration kStepTimeout = absl::Seconds(8);
constexpr absl::Duration kWatchInterval = absl::Seconds(1);

class StepStallTest : public BatcherFixture {
 protected:
  StepStallTest() { options_.step_timeout = kStepTimeout; }
  ~StepStallTest() override {
    if (batcher_ != nullptr) batcher_->ListenForStalls(nullptr);
  }

  void CreateListening() {
    Create();
    batcher_->ListenForStalls([this](const StepStall& stall) {
      MutexLock lock(&mutex_);
      (stall.returned ? returned_ : given_up_).push_back(stall.model.name);
      heard_.SignalAll();
    });
  }

  // Serves one more model, whose steps wait at `gate` unless it is null.
  ModelHandle AddModel(const char* name, StepGate* gate) {
    ModelHandle model = ServedPuppet(name);
    puppets_.options.gate = gate;
    EXPECT_TRUE(
        batcher_->AddModel(model, puppets_.MakeEngines(options_.workers)).ok());
    return model;
  }

  static Request ShortOf(const ModelHandle& model) {
    Request request = Short();
    request.model = model;
    return request;
  }

  // Lets so much time pass. All steps that are late at its end are given up.
  void Pass(absl::Duration time) {
    for (; time > absl::ZeroDuration(); time -= kWatchInterval) {
      clock_.AwaitSleeper(clock_.Now() + kWatchInterval);
      clock_.Advance(kWatchInterval);
    }
    clock_.AwaitSleeper(clock_.Now() + kWatchInterval);
  }

  void WaitReturned(size_t count) {
    MutexLock lock(&mutex_);
    while (returned_.size() < count) heard_.Wait(&mutex_);
  }
  std::vector<std::string> given_up() {
    MutexLock lock(&mutex_);
    return given_up_;
  }

  Submission Refused(const ModelHandle& model) {
    Request request = ShortOf(model);
    request.observer = std::make_shared<RecordingObserver>();
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    return batcher_->Submit(batcher_->NewCall(), std::move(requests));
  }

  Mutex mutex_;
  CondVar heard_;
  std::vector<std::string> given_up_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> returned_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(StepStallTest, OtherModelsGoOnAndTheModelDoesWhenItsStepReturns) {
  CreateListening();
  const ModelHandle other = AddModel("other", nullptr);
  const auto running = Occupy();
  const auto queued = Submit(Short());
  const auto of_other = Submit(ShortOf(other));
  Pass(kStepTimeout);
  EXPECT_EQ(running->Wait().status().code(), Code::kUnavailable);
  EXPECT_EQ(queued->Wait().status().code(), Code::kUnavailable);
  EXPECT_TRUE(of_other->Wait().ok());
  EXPECT_TRUE(Submit(ShortOf(other))->Wait().ok());
  EXPECT_EQ(batcher_->stalled_steps(), 1);
  EXPECT_EQ(given_up(), std::vector<std::string>{"model"});

  const Submission refused = Refused(TheModel());
  EXPECT_EQ(refused.status.code(), Code::kUnavailable);
  EXPECT_GT(refused.retry_after, absl::ZeroDuration());
  EXPECT_EQ(batcher_
                ->CheckAdmission(TheModel().get(), {}, batcher_->NewCall(),
                                 absl::InfiniteFuture())
                .status.code(),
            Code::kUnavailable);
  EXPECT_TRUE(batcher_
                  ->CheckAdmission(nullptr, {}, batcher_->NewCall(),
                                   absl::InfiniteFuture())
                  .ok());

  gate_.Open();
  WaitReturned(1);
  EXPECT_EQ(batcher_->stalled_steps(), 0);
  EXPECT_TRUE(Submit(Short())->Wait().ok());
  EXPECT_TRUE(Submit(ShortOf(other))->Wait().ok());
}

TEST_F(StepStallTest, AStepThatReturnsInTimeIsNotGivenUp) {
  CreateListening();
  const auto running = Occupy(4);
  Pass(kStepTimeout - kWatchInterval);
  gate_.StepOnce();
  Pass(kStepTimeout - kWatchInterval);
  EXPECT_EQ(batcher_->stalled_steps(), 0);
  gate_.Open();
  EXPECT_TRUE(running->Wait().ok());
  EXPECT_EQ(given_up(), std::vector<std::string>());
}

TEST_F(StepStallTest, SeveralModelsMayStallOnOneWorker) {
  CreateListening();
  StepGate second;
  second.Close();
  const ModelHandle other = AddModel("other", &second);
  const ModelHandle sound = AddModel("sound", nullptr);
  const auto running = Occupy();
  Pass(kStepTimeout);
  EXPECT_EQ(running->Wait().status().code(), Code::kUnavailable);
  const auto of_other = Submit(ShortOf(other));
  second.WaitHeld();
  Pass(kStepTimeout);
  EXPECT_EQ(of_other->Wait().status().code(), Code::kUnavailable);
  EXPECT_EQ(batcher_->stalled_steps(), 2);
  EXPECT_TRUE(Submit(ShortOf(sound))->Wait().ok());
  // The first one returns first.
  gate_.Open();
  WaitReturned(1);
  EXPECT_TRUE(Submit(Short())->Wait().ok());
  EXPECT_EQ(Refused(other).status.code(), Code::kUnavailable);
  second.Open();
  WaitReturned(2);
  EXPECT_TRUE(Submit(ShortOf(other))->Wait().ok());
  EXPECT_TRUE(Submit(ShortOf(sound))->Wait().ok());
  EXPECT_EQ(batcher_->stalled_steps(), 0);
}

TEST_F(StepStallTest, AnotherWorkerGoesOnWithTheModel) {
  options_.workers = 2;
  CreateListening();
  const auto first = Occupy();
  const auto second = Submit(Short(100, 300));
  gate_.WaitHeld(2);
  Pass(kStepTimeout - kWatchInterval);
  gate_.Allow(1);  // one of the two begins its next step
  gate_.WaitHeld(2);
  Pass(kWatchInterval);
  EXPECT_EQ(batcher_->stalled_steps(), 1);
  const auto third = Submit(Short(4, 700));
  gate_.Open();
  WaitReturned(1);
  EXPECT_TRUE(third->Wait().ok());
  EXPECT_NE(first->Wait().ok(), second->Wait().ok());
}

TEST_F(StepStallTest, RepeatedStallsLoseNothing) {
  CreateListening();
  for (size_t i = 1; i <= 5; ++i) {
    const auto running = Occupy();
    Pass(kStepTimeout);
    EXPECT_EQ(running->Wait().status().code(), Code::kUnavailable);
    gate_.Open();
    WaitReturned(i);
    EXPECT_TRUE(Submit(Short())->Wait().ok());
  }
}

TEST_F(StepStallTest, ADrainDoesNotWaitForTheStep) {
  CreateListening();
  const auto running = Occupy();
  const auto queued = Submit(Short());
  Pass(kStepTimeout);
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  EXPECT_EQ(queued->Wait().status().code(), Code::kUnavailable);
  EXPECT_EQ(running->Wait().status().code(), Code::kUnavailable);
}

TEST_F(StepStallTest, AModelIsRemovedWhenItsStepReturns) {
  CreateListening();
  const ModelHandle other = AddModel("other", nullptr);
  const auto running = Occupy();
  Pass(kStepTimeout);
  EXPECT_TRUE(batcher_->RemoveModel(*TheModel()).ok());
  EXPECT_EQ(running->Wait().status().code(), Code::kUnavailable);
  EXPECT_TRUE(Submit(ShortOf(other))->Wait().ok());
  gate_.Open();
  WaitReturned(1);
  EXPECT_TRUE(Submit(ShortOf(other))->Wait().ok());
  EXPECT_EQ(Refused(TheModel()).status.code(), Code::kNotFound);
}

}  // namespace
}  // namespace trivium
