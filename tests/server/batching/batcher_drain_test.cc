// The end of a batcher: drained, or destroyed with work left.
#include <thread>

#include "tests/server/batching/batcher_fixture.h"

namespace trivium {
namespace {

using BatcherDrainTest = BatcherFixture;
using Code = absl::StatusCode;

TEST_F(BatcherDrainTest, DrainFinishesAcceptedRequests) {
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
  EXPECT_EQ(batcher_->Submit(1, call).status.code(), Code::kUnavailable);
}

TEST_F(BatcherDrainTest, DrainCancelsTheRestWhenTimeIsUp) {
  options_.max_rows = 2;
  Create();
  gate_.Close();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 9; ++i) observers.push_back(Submit(Short(100)));
  gate_.WaitHeld();
  std::thread drain(
      [this] { EXPECT_FALSE(batcher_->Drain(absl::ZeroDuration())); });
  // A refusal means that the drain has begun, and at once cancels the rest.
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

TEST_F(BatcherDrainTest, TheDestructorAnswersEverythingOnce) {
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

}  // namespace
}  // namespace trivium
