// Models that are added and removed while others run.
#include <atomic>
#include <new>
#include <random>
#include <thread>

#include "tests/server/batching/batcher_fixture.h"

namespace trivium {
namespace {

using BatcherModelsTest = BatcherFixture;
using Code = absl::StatusCode;

// An engine that records its destruction.
class CountedEngine : public PuppetEngine {
 public:
  CountedEngine(const Options& options, std::shared_ptr<PuppetLog> log,
                std::atomic<int>* alive)
      : PuppetEngine(options, std::move(log)), alive_(alive) {
    ++*alive_;
  }
  ~CountedEngine() override { --*alive_; }

 private:
  std::atomic<int>* const alive_;
};

TEST_F(BatcherModelsTest, ARemovedModelAnswersItsRequestsAndAcceptsNoMore) {
  options_.workers = 2;
  options_.max_rows = 2;
  Create();
  const ModelHandle other = ServedPuppet("other");
  EXPECT_FALSE(batcher_->Serves(*other));
  ASSERT_TRUE(batcher_->AddModel(other, puppets_.MakeEngines(2)).ok());
  EXPECT_TRUE(batcher_->Serves(*other));
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 20; ++i) {
    Request request = Short(9, 10 * i);
    request.model = i % 3 == 0 ? TheModel() : other;
    observers.push_back(Submit(std::move(request)));
  }
  gate_.WaitHeld(2);
  EXPECT_TRUE(batcher_->RemoveModel(*other).ok());
  EXPECT_EQ(batcher_->RemoveModel(*other).code(), Code::kNotFound);
  EXPECT_FALSE(batcher_->Serves(*other));
  Request late = Short();
  late.model = other;
  late.observer = std::make_shared<RecordingObserver>();
  std::vector<Request> call = {Short(), late};
  call[0].observer = late.observer;
  const Submission refused = batcher_->Submit(1, call);
  EXPECT_EQ(refused.status.code(), Code::kNotFound);
  EXPECT_EQ(refused.request, 1);
  // The model may be added again while its old requests still run.
  const ModelHandle again = ServedPuppet("other");
  ASSERT_TRUE(batcher_->AddModel(again, puppets_.MakeEngines(2)).ok());
  late.model = again;
  observers.push_back(Submit(late));
  gate_.Open();
  for (const auto& observer : observers) EXPECT_TRUE(observer->Wait().ok());
}

TEST_F(BatcherModelsTest, ARemovedModelIsFreedWhenItsRequestsAreCancelled) {
  Create();
  const ModelHandle other = ServedPuppet("other");
  std::atomic<int> alive{0};
  Batcher::Engines engines;
  engines.push_back(std::make_unique<CountedEngine>(
      puppets_.options, std::make_shared<PuppetLog>(), &alive));
  ASSERT_TRUE(batcher_->AddModel(other, std::move(engines)).ok());
  const auto running = Occupy(3);
  Request request = Short();
  request.model = other;
  const auto cancellation = std::make_shared<Cancellation>();
  request.cancellation = cancellation;
  const auto queued = Submit(std::move(request));
  EXPECT_TRUE(batcher_->RemoveModel(*other).ok());
  cancellation->Cancel();
  gate_.Open();
  EXPECT_EQ(queued->Wait().status().code(), Code::kCancelled);
  EXPECT_TRUE(running->Wait().ok());
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  batcher_.reset();
  EXPECT_EQ(alive, 0);
}

// An engine for which a worker has no memory at first.
class ForgetfulEngine : public PuppetEngine {
 public:
  // The calls `first` and after it of limits() throw, `times` times.
  ForgetfulEngine(const Options& options, int first, int times,
                  std::atomic<int>* thrown)
      : PuppetEngine(options, std::make_shared<PuppetLog>()),
        first_(first),
        times_(times),
        thrown_(thrown) {}
  const EngineLimits& limits() const override {
    const int call = ++calls_;
    if (call >= first_ && call < first_ + times_) {
      ++*thrown_;
      throw std::bad_alloc();
    }
    return PuppetEngine::limits();
  }

 private:
  const int first_;
  const int times_;
  std::atomic<int>* const thrown_;
  mutable std::atomic<int> calls_{0};
};

TEST_F(BatcherModelsTest, AnEngineIsFetchedAgainIfMemoryEndsMeanwhile) {
  Create();
  // The first call is AddModel's. A worker that fetches the engine asks twice.
  for (const int first : {2, 3}) {
    const ModelHandle other = ServedPuppet("other");
    std::atomic<int> thrown{0};
    Batcher::Engines engines;
    engines.push_back(
        std::make_unique<ForgetfulEngine>(puppets_.options, first, 5, &thrown));
    ASSERT_TRUE(batcher_->AddModel(other, std::move(engines)).ok());
    Request request = Short();
    request.model = other;
    EXPECT_TRUE(Submit(std::move(request))->Wait().ok());
    EXPECT_GE(thrown, 5);
    EXPECT_TRUE(batcher_->RemoveModel(*other).ok());
  }
}

TEST_F(BatcherModelsTest, AModelForWhichThereIsNoMemoryIsNotAdded) {
  Create();
  const ModelHandle other = ServedPuppet("other");
  std::atomic<int> thrown{0};
  Batcher::Engines engines;
  engines.push_back(std::make_unique<ForgetfulEngine>(
      puppets_.options, /*first=*/1, /*times=*/1, &thrown));
  EXPECT_THROW(batcher_->AddModel(other, std::move(engines)).IgnoreError(),
               std::bad_alloc);
  EXPECT_FALSE(batcher_->Serves(*other));
  EXPECT_TRUE(batcher_->AddModel(other, puppets_.MakeEngines(1)).ok());
  EXPECT_TRUE(batcher_->Serves(*other));
}

// 200 models are added and removed beside one that stays. All accepted requests
// are answered, and nothing of a removed model stays.
TEST_F(BatcherModelsTest, ModelsAreAddedAndRemovedUnderLoad) {
  constexpr int kCycles = 200;
  options_.workers = 2;
  Create();
  std::atomic<bool> over{false};
  std::vector<std::thread> load;
  for (int thread = 0; thread < 2; ++thread) {
    load.emplace_back([&, thread] {
      std::mt19937 random(thread);
      while (!over) {
        EXPECT_TRUE(
            Submit(Short(1 + random() % 9, random() % 100))->Wait().ok());
      }
    });
  }
  std::atomic<int> alive{0};
  std::mt19937 random(7);
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    ModelHandle model = ServedPuppet("passing");
    Batcher::Engines engines;
    for (int i = 0; i < 2; ++i) {
      engines.push_back(std::make_unique<CountedEngine>(
          puppets_.options, std::make_shared<PuppetLog>(), &alive));
    }
    ASSERT_TRUE(batcher_->AddModel(model, std::move(engines)).ok());
    std::vector<std::shared_ptr<RecordingObserver>> observers;
    for (int i = random() % 9; i > 0; --i) {
      Request request = Short(1 + random() % 9, random() % 100);
      request.model = model;
      observers.push_back(Submit(std::move(request)));
    }
    if (random() % 2 == 0 && !observers.empty()) {
      EXPECT_TRUE(observers[0]->Wait().ok());
    }
    EXPECT_TRUE(batcher_->RemoveModel(*model).ok());
    const std::weak_ptr<const ServedModel> gone = model;
    model.reset();
    for (const auto& observer : observers) EXPECT_TRUE(observer->Wait().ok());
    if (cycle % 20 != 0) continue;
    // The workers free the model without further calls.
    while (!gone.expired() || alive > 0) std::this_thread::yield();
  }
  over = true;
  for (std::thread& thread : load) thread.join();
  batcher_.reset();
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace trivium
