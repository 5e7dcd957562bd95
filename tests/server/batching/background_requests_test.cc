// Background requests in a running batch: the time, rows and blocks that they
// leave to interactive requests, and get besides them.
#include "server/batching/background_share.h"
#include "tests/server/batching/running_batch_fixture.h"

namespace trivium {
namespace {

using Verdict = FairQueue::Verdict;

Request Background(Request request) {
  request.priority = Priority::kBackground;
  return request;
}

class BackgroundRequestsTest : public RunningBatchFixture {
 protected:
  BackgroundRequestsTest() {
    puppets_.options.end_bias = -100;
    puppets_.options.clock = &clock_;
    puppets_.options.step_time = absl::Microseconds(200);
    puppets_.options.decode_time = absl::Microseconds(20);
    puppets_.options.encode_time = absl::Nanoseconds(500);
  }
  std::vector<std::shared_ptr<RecordingObserver>> AddBackground(
      int count, int new_tokens) {
    std::vector<std::shared_ptr<RecordingObserver>> observers;
    for (int i = 0; i < count; ++i) {
      observers.push_back(
          Add(Background(MakeRequest(Source(10, 2 + 20 * i), Greedy(new_tokens),
                                     nullptr)),
              /*call=*/100 + i));
    }
    return observers;
  }
  static int Done(
      const std::vector<std::shared_ptr<RecordingObserver>>& observers) {
    int done = 0;
    for (const auto& observer : observers) done += observer->done();
    return done;
  }
  // Time from the request's arrival to its answer.
  absl::Duration TimeOf(const Request& request) {
    const absl::Time begin = clock_.Now();
    const auto observer = Add(request, /*call=*/1);
    while (!observer->done()) batch_->Iterate();
    return clock_.Now() - begin;
  }
};

TEST_F(BackgroundRequestsTest, BackgroundRequestsHardlyDelayInteractiveOnes) {
  Create();
  const Request request = MakeRequest(Source(20, 5000), Greedy(20), nullptr);
  const absl::Duration alone = TimeOf(request);
  const auto background = AddBackground(64, 2000);
  for (int i = 0; i < 20; ++i) batch_->Iterate();
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(absl::FDivDuration(TimeOf(request), alone), 1.35);
    // Background requests use the time between interactive ones.
    batch_->Iterate();
    EXPECT_GE(LastStep().decoder_rows, 2);
  }
  // Long after the last interactive request all background ones run.
  clock_.Advance(BackgroundShare::kLately);
  for (int i = 0; i < 20; ++i) batch_->Iterate();
  EXPECT_EQ(LastStep().decoder_rows, 64);
  batch_->Abort(absl::UnavailableError("bye"));
}

TEST_F(BackgroundRequestsTest,
       BackgroundRequestsFinishWhileInteractiveOnesNeverStop) {
  Create();
  const auto background = AddBackground(4, 10);
  const Request request = MakeRequest(Source(20, 5000), Greedy(20), nullptr);
  std::vector<std::shared_ptr<RecordingObserver>> interactive;
  for (int i = 0; i < 2000 && Done(background) < 4; ++i) {
    if (interactive.empty() || interactive.back()->done()) {
      interactive.push_back(Add(request, 1));
    }
    batch_->Iterate();
  }
  EXPECT_EQ(Done(background), 4);
  EXPECT_GE(interactive.size(), 3u);
  RunAll();
}

// A request that needs more rows than interactive requests leave.
TEST_F(BackgroundRequestsTest, WideRequestsGetTheirTurn) {
  options_.max_rows = 32;
  Create();
  const auto wide =
      Add(Background(MakeRequest(Source(9), Beams(16, 5), nullptr)), 9);
  const Request request = MakeRequest(Source(20, 5000), Greedy(200), nullptr);
  CallId call = 10;
  std::vector<std::shared_ptr<RecordingObserver>> interactive;
  while (CanJoin(request, call) == Verdict::kTake) {
    interactive.push_back(Add(request, call++));
    ASSERT_LE(interactive.size(), 32u);
  }
  EXPECT_EQ(interactive.size(), 16u);  // one has rows beside them
  for (int i = 0; i < 2000 && !wide->done(); ++i) {
    batch_->Iterate();
    EXPECT_LE(LastStep().decoder_rows, 32);
  }
  EXPECT_TRUE(wide->Wait().ok());
  RunAll();
}

TEST_F(BackgroundRequestsTest,
       BackgroundRequestsGiveUpTheirBlocksForInteractiveOnes) {
  puppets_.options.limits.total_blocks = 30;
  Create();
  // Each needs 3 + 15 blocks.
  std::vector<std::shared_ptr<RecordingObserver>> background =
      AddBackground(2, 60);
  for (int i = 0; i < 30; ++i) batch_->Iterate();
  const Request request = MakeRequest(Source(20, 5000), Greedy(20), nullptr);
  EXPECT_EQ(CanJoin(Background(request), 7), Verdict::kStop);
  ASSERT_EQ(CanJoin(request, 1), Verdict::kTake);
  const auto interactive = Add(request, 1);
  for (int i = 0; i < 25 && !interactive->done(); ++i) batch_->Iterate();
  EXPECT_TRUE(interactive->done());
  EXPECT_EQ(Done(background), 0);
  RunAll();
  EXPECT_EQ(Done(background), 2);
  EXPECT_TRUE(interactive->Wait().ok());
}

// All answers have the bits that they have alone.
TEST_F(BackgroundRequestsTest, BackgroundRequestsChangeNoAnswer) {
  std::vector<Request> requests;
  for (int i = 0; i < 40; ++i) {
    const DecodingOptions options[] = {Greedy(12), Beams(4, 12),
                                       Samples(3, 12, i)};
    requests.push_back(
        MakeRequest(Source(5 + i % 30, 2 + 40 * i), options[i % 3], nullptr));
    if (i % 4 != 0) requests.back().priority = Priority::kBackground;
  }
  std::vector<std::shared_ptr<RecordingObserver>> alone, together;
  Create();
  for (Request request : requests) {
    request.priority = Priority::kInteractive;
    alone.push_back(Add(request));
    RunAll();
  }
  puppets_.options.limits.total_blocks = 40;
  Create();
  for (size_t i = 0; i < requests.size();) {
    if (CanJoin(requests[i], i) == Verdict::kTake) {
      together.push_back(Add(requests[i], i));
      ++i;
    } else {
      batch_->Iterate();
    }
  }
  RunAll();
  for (size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSameHypotheses(alone[i]->Wait()->hypotheses,
                         together[i]->Wait()->hypotheses);
    EXPECT_EQ(together[i]->answers(), 1);
  }
}

}  // namespace
}  // namespace trivium
