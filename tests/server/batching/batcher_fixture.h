#ifndef TRIVIUM_TESTS_SERVER_BATCHING_BATCHER_FIXTURE_H_
#define TRIVIUM_TESTS_SERVER_BATCHING_BATCHER_FIXTURE_H_

#include <memory>
#include <utility>
#include <vector>

#include "tests/server/batching/harness.h"

namespace trivium {

// A batcher of puppets whose steps wait at a gate, and whose clock stands.
class BatcherFixture : public testing::Test {
 protected:
  BatcherFixture() {
    puppets_.options.gate = &gate_;
    puppets_.options.end_bias = -100;
    options_.clock = &clock_;
  }
  ~BatcherFixture() override {
    gate_.Open();
    batcher_.reset();
    puppets_.ExpectCleanUse();
  }

  void Create() { batcher_ = puppets_.MakeBatcher(options_); }
  // Submits one request that is expected to be accepted.
  std::shared_ptr<RecordingObserver> Submit(Request request) {
    return Submit(batcher_->NewCall(), std::move(request));
  }
  std::shared_ptr<RecordingObserver> Submit(CallId call, Request request) {
    auto observer = std::make_shared<RecordingObserver>();
    request.observer = observer;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    const Submission submission = batcher_->Submit(call, std::move(requests));
    EXPECT_TRUE(submission.ok()) << submission.status;
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
  Batcher::Options options_;
  std::unique_ptr<Batcher> batcher_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_BATCHING_BATCHER_FIXTURE_H_
