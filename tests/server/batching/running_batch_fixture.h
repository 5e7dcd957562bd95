#ifndef TRIVIUM_TESTS_SERVER_BATCHING_RUNNING_BATCH_FIXTURE_H_
#define TRIVIUM_TESTS_SERVER_BATCHING_RUNNING_BATCH_FIXTURE_H_

#include <memory>
#include <utility>

#include "server/batching/running_batch.h"
#include "tests/server/batching/harness.h"

namespace trivium {

// A running batch of a puppet, without a worker: the test iterates it.
class RunningBatchFixture : public testing::Test {
 protected:
  ~RunningBatchFixture() override {
    batch_.reset();
    puppets_.ExpectCleanUse();
  }

  void Create() {
    options_.model = TheModel();
    options_.clock = &clock_;
    batch_ = std::make_unique<RunningBatch>(options_, puppets_.Make());
  }
  std::shared_ptr<RecordingObserver> Add(Request request, CallId call = 1) {
    auto observer = std::make_shared<RecordingObserver>();
    request.observer = observer;
    batch_->Add(Queued(call, std::move(request), puppets_.options.limits));
    return observer;
  }
  FairQueue::Verdict CanJoin(const Request& request, CallId call) {
    return batch_->CanJoin(*Queued(call, request, puppets_.options.limits));
  }
  void RunAll() {
    while (!batch_->empty()) batch_->Iterate();
  }
  PuppetLog::Step LastStep() { return puppets_.last_log().steps().back(); }

  FakeClock clock_;
  Puppets puppets_;
  RunningBatch::Options options_;
  std::unique_ptr<RunningBatch> batch_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_BATCHING_RUNNING_BATCH_FIXTURE_H_
