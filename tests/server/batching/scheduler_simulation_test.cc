// The scheduler in simulated time: when requests start, what share they get,
// and how long running requests wait for their next token. The engine's steps
// take time in proportion to their rows, and the clock moves only with these
// steps.
#include <algorithm>
#include <functional>
#include <vector>

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

// Approximates a translation model of 6 + 6 layers on one core: 10 ms for an
// iteration of 16 rows, 2 ms for a layer of 512 source tokens.
constexpr absl::Duration kStepTime = absl::Milliseconds(2);
constexpr absl::Duration kDecodeTime = absl::Microseconds(500);
constexpr absl::Duration kEncodeTime = absl::Microseconds(4);

class BetweenTokens : public BatchingObserver {
 public:
  void OnNextToken(const ServedModel&, absl::Duration since_last) override {
    MutexLock lock(&mutex_);
    times_.push_back(since_last);
  }
  absl::Duration P99() const {
    MutexLock lock(&mutex_);
    std::vector<absl::Duration> sorted = times_;
    std::sort(sorted.begin(), sorted.end());
    return sorted.at(sorted.size() * 99 / 100);
  }

 private:
  mutable Mutex mutex_;
  std::vector<absl::Duration> times_ ABSL_GUARDED_BY(mutex_);
};

class SchedulerSimulation : public testing::Test {
 protected:
  SchedulerSimulation() {
    puppets_.options.gate = &gate_;
    puppets_.options.clock = &clock_;
    puppets_.options.step_time = kStepTime;
    puppets_.options.decode_time = kDecodeTime;
    puppets_.options.encode_time = kEncodeTime;
    puppets_.options.end_bias = -100;
    puppets_.options.limits.total_blocks = 1 << 20;
    options_.clock = &clock_;
    options_.max_waiting_tokens = int64_t{1} << 30;
    gate_.Close();
  }
  ~SchedulerSimulation() override { End(); }

  void Create() { batcher_ = puppets_.MakeBatcher(options_); }
  void End() {
    gate_.Open();
    batcher_.reset();
    puppets_.ExpectCleanUse();
  }
  // Submits `count` requests of one call; make(i) is the i-th.
  std::vector<std::shared_ptr<RecordingObserver>> Submit(
      int count, const std::function<Request(int)>& make) {
    std::vector<std::shared_ptr<RecordingObserver>> observers;
    std::vector<Request> requests;
    for (int i = 0; i < count; ++i) {
      observers.push_back(std::make_shared<RecordingObserver>());
      requests.push_back(make(i));
      requests.back().stream = true;
      requests.back().observer = observers.back();
    }
    const Submission submission =
        batcher_->Submit(batcher_->NewCall(), std::move(requests));
    EXPECT_TRUE(submission.ok()) << submission.status;
    return observers;
  }
  std::shared_ptr<RecordingObserver> SubmitOne(Request request) {
    return Submit(1, [&request](int) { return request; }).front();
  }
  // Runs a step and returns it; the next one is held.
  PuppetLog::Step LastStep() const { return puppets_.log().steps().back(); }

  StepGate gate_;
  FakeClock clock_;
  Puppets puppets_;
  Batcher::Options options_;
  std::unique_ptr<Batcher> batcher_;
};

using StreamOf = std::function<Request(int)>;

class LoneRequestTest : public SchedulerSimulation,
                        public testing::WithParamInterface<int> {};

TEST_P(LoneRequestTest, StartsWithinTwoIterationsOfALongStream) {
  const StreamOf streams[] = {
      // Sentences of all lengths, only the longest, only the shortest, beams.
      [](int i) {
        return MakeRequest(Source(10 + i % 60, 2 + i), Greedy(40 + i % 9),
                           nullptr);
      },
      [](int i) {
        return MakeRequest(Source(512, 2 + i), Greedy(300), nullptr);
      },
      [](int i) { return MakeRequest(Source(2, 2 + i), Greedy(6), nullptr); },
      [](int i) {
        return MakeRequest(Source(10 + i % 60, 2 + i), Beams(16, 90), nullptr);
      },
  };
  Create();
  Submit(10000, streams[GetParam()]);
  for (int i = 0; i < 150; ++i) {
    gate_.StepOnce();
    if (i % 30 != 29) continue;
    const auto lone =
        SubmitOne(MakeRequest(Source(20, 20000 + i), Greedy(92), nullptr));
    gate_.StepOnce();  // the iteration that was under way
    EXPECT_EQ(lone->pieces(), 0);
    const size_t before = puppets_.log().steps().size();
    gate_.StepOnce();
    gate_.StepOnce();
    EXPECT_EQ(puppets_.log().steps().size(), before + 2);
    EXPECT_GE(lone->pieces(), 1) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, LoneRequestTest, testing::Range(0, 4));

// A model without an encoder.
Request Prompt(int tokens, int32_t first, int new_tokens) {
  Request request = MakeRequest({}, Greedy(new_tokens), nullptr);
  request.prefix = Source(tokens, first).ids;
  for (int32_t& id : request.prefix) id %= 40;
  return request;
}

class PromptSimulation : public SchedulerSimulation {
 protected:
  PromptSimulation() {
    puppets_.options.limits.encoder_layers = 0;
    puppets_.options.limits.max_source_tokens = 0;
    puppets_.options.limits.max_target_tokens = 4096;
    puppets_.options.decode_time = absl::Microseconds(20);
  }
};

TEST_F(PromptSimulation, ALonePromptStartsWithinTwoIterationsOfALongStream) {
  Create();
  Submit(10000, [](int i) { return Prompt(10 + i % 60, i, 40 + i % 9); });
  for (int i = 0; i < 150; ++i) {
    gate_.StepOnce();
    if (i % 30 != 29) continue;
    const auto lone = SubmitOne(Prompt(20, i, 92));
    gate_.StepOnce();  // the iteration that was under way
    EXPECT_EQ(lone->pieces(), 0);
    gate_.StepOnce();
    gate_.StepOnce();
    EXPECT_GE(lone->pieces(), 1) << i;
  }
}

TEST_F(PromptSimulation, LongPromptsDoNotStallRunningRequests) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: simulations of long prompts, under a sanitizer";
#endif
  BetweenTokens between;
  options_.observer = &between;
  Create();
  const auto streams = Submit(8, [](int i) { return Prompt(20, 5 * i, 3000); });
  for (int i = 0; i < 200; ++i) gate_.StepOnce();
  const absl::Duration quiet = between.P99();
  std::vector<std::shared_ptr<RecordingObserver>> prompts;
  for (int arrival = 0; arrival < 10; ++arrival) {
    prompts.push_back(SubmitOne(Prompt(2000, arrival, 4)));
    for (int i = 0; i < 100; ++i) gate_.StepOnce();
  }
  for (const auto& prompt : prompts) EXPECT_TRUE(prompt->done());
  // But for the first, when nothing was known.
  EXPECT_LE(absl::FDivDuration(between.P99(), quiet), 1.4);
  End();  // before the observer
}

TEST_F(SchedulerSimulation, CallsShareInTokens) {
  Create();
  const StreamOf calls[] = {
      [](int i) { return MakeRequest(Source(10, 2 + i), Greedy(10), nullptr); },
      [](int i) {
        return MakeRequest(Source(60, 40000 + i), Greedy(80), nullptr);
      },
      [](int i) {
        return MakeRequest(Source(20, 80000 + i), Beams(4, 20), nullptr);
      },
      [](int i) {
        return MakeRequest(Source(20, 120000 + i), Beams(16, 40), nullptr);
      },
  };
  const int counts[] = {20000, 4000, 4000, 1000};
  const int64_t tokens[] = {20, 140, 100, 660};
  std::vector<std::vector<std::shared_ptr<RecordingObserver>>> observers;
  for (int call = 0; call < 4; ++call) {
    observers.push_back(Submit(counts[call], calls[call]));
  }
  const auto served = [&](int call) {
    int64_t done = 0;
    for (const auto& observer : observers[call]) done += observer->done();
    EXPECT_LT(done, counts[call]);
    return done * tokens[call];
  };
  std::vector<int64_t> before;
  for (int i = 0; i < 200; ++i) gate_.StepOnce();
  for (int call = 0; call < 4; ++call) before.push_back(served(call));
  for (int i = 0; i < 1000; ++i) gate_.StepOnce();
  double all = 0;
  std::vector<double> shares;
  for (int call = 0; call < 4; ++call) {
    shares.push_back(static_cast<double>(served(call) - before[call]));
    all += shares.back();
  }
  for (int call = 0; call < 4; ++call) {
    EXPECT_NEAR(shares[call] / all, 0.25, 0.03) << call;
  }
}

TEST_F(SchedulerSimulation, LongSourcesDoNotStallRunningRequests) {
  BetweenTokens between;
  options_.observer = &between;
  Create();
  const auto running = Submit(16, [](int i) {
    return MakeRequest(Source(20, 1000 * i), Greedy(500), nullptr);
  });
  for (int i = 0; i < 50; ++i) gate_.StepOnce();
  const absl::Duration alone = between.P99();
  EXPECT_EQ(alone, kStepTime + 16 * kDecodeTime);
  size_t steps = puppets_.log().steps().size();
  for (int arrival = 0; arrival < 20; ++arrival) {
    const auto heard = SubmitOne(
        MakeRequest(Source(512, 20000 + 1000 * arrival), Greedy(4), nullptr));
    for (int i = 0; i < 20; ++i) gate_.StepOnce();
    EXPECT_TRUE(heard->done()) << arrival;
    for (; steps < puppets_.log().steps().size(); ++steps) {
      EXPECT_LE(puppets_.log().steps()[steps].encode_work, 512);
    }
  }
  EXPECT_LE(absl::FDivDuration(between.P99(), alone), 1.3);
  End();  // before the observer
}

// The same with long prefixes, which are read in chunks.
TEST_F(SchedulerSimulation, LongPrefixesDoNotStallRunningRequests) {
  BetweenTokens between;
  options_.observer = &between;
  Create();
  const auto running = Submit(16, [](int i) {
    return MakeRequest(Source(20, 1000 * i), Greedy(500), nullptr);
  });
  for (int i = 0; i < 100; ++i) gate_.StepOnce();
  const absl::Duration alone = between.P99();
  for (int arrival = 0; arrival < 10; ++arrival) {
    Request request =
        MakeRequest(Source(5, 20000 + 10 * arrival), Greedy(4), nullptr);
    for (int i = 0; i < 150; ++i) request.prefix.push_back((i * arrival) % 40);
    const auto heard = SubmitOne(request);
    for (int i = 0; i < 38; ++i) gate_.StepOnce();
    EXPECT_TRUE(heard->done()) << arrival;
  }
  // But for the first, when nothing was known.
  EXPECT_LE(absl::FDivDuration(between.P99(), alone), 1.4);
  End();  // before the observer
}

TEST_F(SchedulerSimulation,
       RequestsThatArriveTogetherAtAnIdleServerStartTogether) {
  Create();
  Submit(32, [](int i) {
    return MakeRequest(Source(30 + i, 1000 * i), Greedy(40), nullptr);
  });
  gate_.StepOnce();
  EXPECT_EQ(LastStep().hypotheses, 32);
}

TEST_F(SchedulerSimulation, RequestsThatArriveTogetherBesideALoneOneStartSoon) {
  Create();
  SubmitOne(MakeRequest(Source(20), Greedy(400), nullptr));
  for (int i = 0; i < 10; ++i) gate_.StepOnce();
  Submit(32, [](int i) {
    return MakeRequest(Source(30, 1000 + 1000 * i), Greedy(40), nullptr);
  });
  gate_.StepOnce();  // the iteration that was under way
  for (int i = 0; i < 5; ++i) gate_.StepOnce();
  EXPECT_EQ(LastStep().hypotheses, 33);
}

// Iterations cost 2 ms besides their rows, so it pays to run many requests,
// also wide ones.
TEST_F(SchedulerSimulation, WideRequestsShareIterations) {
  Create();
  Submit(2000, [](int i) {
    return MakeRequest(Source(20, 2 + i), Beams(16, 20), nullptr);
  });
  for (int i = 0; i < 1000; ++i) gate_.StepOnce();
  int most = 0;
  for (int i = 0; i < 30; ++i) {
    gate_.StepOnce();
    most = std::max(most, LastStep().decoder_rows);
  }
  EXPECT_GE(most, 160);
}

// With much to encode and little to decode, most time is spent on rows and not
// on iterations with few rows, however many requests wait.
TEST_F(SchedulerSimulation, ManyWaitingSourcesKeepTheBatchFull) {
  Create();
  const absl::Time begin = clock_.Now();
  Submit(2000, [](int i) {
    return MakeRequest(Source(500, 2 + i), Greedy(10), nullptr);
  });
  for (int i = 0; i < 300; ++i) gate_.StepOnce();
  absl::Duration rows;
  for (const PuppetLog::Step& step : puppets_.log().steps()) {
    rows += kEncodeTime * step.encode_work + kDecodeTime * step.decoder_rows;
  }
  EXPECT_GE(absl::FDivDuration(rows, clock_.Now() - begin), 0.8);
}

}  // namespace
}  // namespace trivium
