#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "tests/server/batching/random_request.h"

namespace trivium {
namespace {

class BatcherStressTest : public testing::TestWithParam<int> {
 protected:
  BatcherStressTest() {
    // A little more than the largest request needs: 10 + 6 x 10 blocks.
    puppets_.options.limits.total_blocks = 96;
    puppets_.options.end_bias = 1.5f;
    options_.workers = GetParam();
    options_.max_rows = 48;
    options_.encode_budget_tokens = 64;
    options_.max_waiting_tokens = 1 << 24;
  }

  void Create() { batcher_ = puppets_.MakeBatcher(options_); }

  Puppets puppets_;
  Batcher::Options options_;
  std::unique_ptr<Batcher> batcher_;
};

// Several threads submit thousands of random requests, some cancelled or late.
// The engine never gets more work than it has room for, and each request is
// answered once, as if alone.
TEST_P(BatcherStressTest, EveryRequestIsAnsweredAsIfAlone) {
  constexpr int kThreads = 3;
  constexpr int kRequests = 900;  // of each thread
  Create();
  struct Asked {
    Request request;
    std::shared_ptr<RecordingObserver> observer;
    bool may_fail;
  };
  std::vector<std::vector<Asked>> asked(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &mine = asked[t]] {
      std::mt19937 random(17 + t);
      std::vector<std::shared_ptr<Cancellation>> cancellations;
      while (mine.size() < kRequests) {
        std::vector<Request> call;
        for (int i = random() % 20; i >= 0; --i) {
          Asked next{RandomRequest(&random),
                     std::make_shared<RecordingObserver>(), false};
          next.request.observer = next.observer;
          if (random() % 8 == 0) {
            cancellations.push_back(std::make_shared<Cancellation>());
            next.request.cancellation = cancellations.back();
            next.may_fail = true;
          } else if (random() % 8 == 0) {
            next.request.deadline =
                absl::Now() + absl::Milliseconds(random() % 50);
            next.may_fail = true;
          }
          call.push_back(next.request);
          mine.push_back(std::move(next));
        }
        const auto size = static_cast<ptrdiff_t>(call.size());
        const Submission submission =
            batcher_->Submit(batcher_->NewCall(), std::move(call));
        ASSERT_TRUE(submission.ok() || submission.late) << submission.status;
        if (submission.late) mine.erase(mine.end() - size, mine.end());
        if (!cancellations.empty() && random() % 2 == 0) {
          cancellations[random() % cancellations.size()]->Cancel();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  batcher_.reset();
  puppets_.ExpectCleanUse();
  for (int worker = 0; worker < options_.workers; ++worker) {
    EXPECT_GT(puppets_.log(worker).steps().size(), 100u);
    for (const PuppetLog::Step& step : puppets_.log(worker).steps()) {
      ASSERT_LE(step.decoder_rows, options_.max_rows);
    }
  }
  for (const std::vector<Asked>& mine : asked) {
    for (const Asked& one : mine) {
      ASSERT_EQ(one.observer->answers(), 1);
      EXPECT_EQ(one.observer->tokens_after_answer(), 0);
      const absl::StatusOr<RequestResult> result = one.observer->Wait();
      if (!result.ok()) {
        EXPECT_TRUE(one.may_fail) << result.status();
        continue;
      }
      ExpectSameResult(*result, Alone(one.request, puppets_.options));
      for (size_t i = 0; one.request.stream && i < result->hypotheses.size();
           ++i) {
        EXPECT_EQ(one.observer->ids(i), result->hypotheses[i].ids);
      }
    }
  }
}

// The first iteration waits behind a gate until 64 requests are queued, and
// more arrive while they run.
TEST_P(BatcherStressTest, ResultsDoNotDependOnOtherRequests) {
  StepGate gate;
  puppets_.options.gate = &gate;
  puppets_.options.limits.total_blocks = 4096;
  options_.max_rows = 128;
  Create();
  gate.Close();
  std::mt19937 random(5);
  std::vector<Request> requests;
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  const auto submit = [&] {
    observers.push_back(std::make_shared<RecordingObserver>());
    requests.push_back(RandomRequest(&random));
    requests.back().observer = observers.back();
    std::vector<Request> call = {requests.back()};
    ASSERT_TRUE(batcher_->Submit(batcher_->NewCall(), std::move(call)).ok());
  };
  for (int i = 0; i < 64; ++i) submit();
  while (requests.size() < 400) {
    gate.Allow(1 + random() % 4);
    for (int i = random() % 9; i > 0; --i) submit();
    gate.WaitHeld();
  }
  gate.Open();
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  batcher_.reset();
  puppets_.ExpectCleanUse();
  std::set<int> row_counts;
  for (int worker = 0; worker < options_.workers; ++worker) {
    for (const PuppetLog::Step& step : puppets_.log(worker).steps()) {
      row_counts.insert(step.decoder_rows);
    }
  }
  EXPECT_GE(*row_counts.rbegin(), 32);
  EXPECT_GE(row_counts.size(), 20u);
  for (size_t i = 0; i < requests.size(); ++i) {
    const absl::StatusOr<RequestResult> result = observers[i]->Wait();
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectSameResult(*result, Alone(requests[i], puppets_.options));
  }
}

// No request ends early, and samples share only their prefix, so the running
// requests come to need more blocks than there are.
TEST_P(BatcherStressTest, RequestsThatExceedTheCacheTogetherAreAnswered) {
  puppets_.options.end_bias = -100;
  Create();
  std::mt19937 random(11);
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 400; ++i) {
    observers.push_back(std::make_shared<RecordingObserver>());
    Request request = MakeRequest(
        Source(1 + random() % 20, 2 + 30 * i),
        Samples(1 + random() % 8, 1 + random() % 32, i), observers.back());
    std::vector<Request> call = {request};
    ASSERT_TRUE(batcher_->Submit(batcher_->NewCall(), std::move(call)).ok());
  }
  EXPECT_TRUE(batcher_->Drain(absl::InfiniteDuration()));
  batcher_.reset();
  puppets_.ExpectCleanUse();
  for (const auto& observer : observers) EXPECT_TRUE(observer->Wait().ok());
  for (int worker = 0; worker < options_.workers; ++worker) {
    int most = 0;
    for (const PuppetLog::Step& step : puppets_.log(worker).steps()) {
      most = std::max(most, step.used_blocks);
    }
    EXPECT_GT(most, 70);  // of 96; how close depends on who met whom
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, BatcherStressTest, testing::Values(1, 2));

}  // namespace
}  // namespace trivium
