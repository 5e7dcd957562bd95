// Requests join without reserving KV blocks. Tests which ones are suspended
// when the blocks run out, and that no answer depends on it.
#include <random>

#include "server/batching/request_checks.h"
#include "tests/server/batching/random_request.h"
#include "tests/server/batching/running_batch_fixture.h"

namespace trivium {
namespace {

class SuspensionCounter : public BatchingObserver {
 public:
  void OnSuspended(const ServedModel&) override { ++suspensions; }
  void OnPrefixFound(const ServedModel&, int64_t tokens) override {
    found += tokens;
  }
  int suspensions = 0;
  int64_t found = 0;
};

class SuspensionTest : public RunningBatchFixture {
 protected:
  SuspensionTest() {
    puppets_.options.end_bias = -100;
    puppets_.options.limits.total_blocks = 30;
    options_.observer = &seen_;
  }
  ~SuspensionTest() override { batch_.reset(); }

  void ExpectAsIfAlone(const Request& request, RecordingObserver* observer) {
    const absl::StatusOr<RequestResult> result = observer->Wait();
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectSameResult(*result, Alone(request, puppets_.options));
    EXPECT_EQ(observer->answers(), 1);
    EXPECT_EQ(observer->tokens_after_answer(), 0);
    for (size_t i = 0; request.stream && i < result->hypotheses.size(); ++i) {
      EXPECT_EQ(observer->ids(i), result->hypotheses[i].ids);
    }
  }

  SuspensionCounter seen_;
};

// Three requests need 2 + 10 blocks each; there are 30.
TEST_F(SuspensionTest, TheYoungestIsSuspendedAndTheOldestNeverWaits) {
  Create();
  std::vector<Request> requests;
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 3; ++i) {
    requests.push_back(MakeRequest(Source(8, 2 + 10 * i), Greedy(40), nullptr));
    requests.back().stream = true;
    EXPECT_EQ(CanJoin(requests[i], i), FairQueue::Verdict::kTake);
    observers.push_back(Add(requests[i], i));
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(observers[0]->done());
    batch_->Iterate();
  }
  EXPECT_TRUE(observers[0]->done());
  EXPECT_TRUE(observers[1]->done());
  EXPECT_FALSE(observers[2]->done());
  EXPECT_EQ(seen_.suspensions, 1);
  RunAll();
  EXPECT_EQ(seen_.suspensions, 1);
  EXPECT_GT(seen_.found, 0);
  for (int i = 0; i < 3; ++i) ExpectAsIfAlone(requests[i], observers[i].get());
}

// Six requests with 2 + 1 blocks all need one more in the same iteration, while
// one is free. Suspending the sixth frees 3, but 5 are needed, so the fifth is
// suspended, too.
TEST_F(SuspensionTest, SeveralAreSuspendedInOneIteration) {
  puppets_.options.limits.total_blocks = 19;
  Create();
  std::vector<Request> requests;
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 6; ++i) {
    requests.push_back(MakeRequest(Source(8, 2 + 10 * i), Greedy(30), nullptr));
    observers.push_back(Add(requests[i], i));
  }
  int most_at_once = 0;
  while (!batch_->empty()) {
    const int before = seen_.suspensions;
    batch_->Iterate();
    most_at_once = std::max(most_at_once, seen_.suspensions - before);
  }
  EXPECT_GE(most_at_once, 2);
  for (int i = 0; i < 6; ++i) ExpectAsIfAlone(requests[i], observers[i].get());
}

TEST_F(SuspensionTest, NoNewcomerThatNeedsBlocksOvertakesTheSuspended) {
  Create();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 3; ++i) {
    observers.push_back(
        Add(MakeRequest(Source(8, 2 + 10 * i), Greedy(40), nullptr), i));
  }
  while (seen_.suspensions == 0) batch_->Iterate();
  EXPECT_EQ(CanJoin(MakeRequest(Source(1, 90), Greedy(1), nullptr), 9),
            FairQueue::Verdict::kStop);
  EXPECT_EQ(CanJoin(MakeRequest(Source(1, 90), std::nullopt, nullptr), 9),
            FairQueue::Verdict::kTake);
  RunAll();
}

TEST_F(SuspensionTest, SuspendedRequestsMayBeCancelledOrAborted) {
  Create();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  const auto cancellation = std::make_shared<Cancellation>();
  for (int i = 0; i < 3; ++i) {
    Request request = MakeRequest(Source(8, 2 + 10 * i), Greedy(40), nullptr);
    if (i == 2) request.cancellation = cancellation;
    observers.push_back(Add(std::move(request), i));
  }
  while (seen_.suspensions == 0) batch_->Iterate();
  cancellation->Cancel();
  batch_->DropDead();
  EXPECT_EQ(observers[2]->Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(observers[1]->done());
  RunAll();
  observers.clear();
  for (int i = 0; i < 3; ++i) {
    observers.push_back(
        Add(MakeRequest(Source(8, 2 + 10 * i), Greedy(40), nullptr), i));
  }
  while (seen_.suspensions == 1) batch_->Iterate();
  batch_->Abort(absl::UnavailableError("bye"));
  for (const auto& observer : observers) {
    EXPECT_EQ(observer->Wait().status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(observer->answers(), 1);
  }
}

// The prefix of one is read once for all, unless their salts differ.
TEST_F(SuspensionTest, LaterRequestsFindAPrefixThatWasRead) {
  puppets_.options.limits.total_blocks = 100;
  Create();
  Request request = MakeRequest(Source(8), Beams(2, 5), nullptr);
  for (int i = 0; i < 18; ++i) request.prefix.push_back(2 + i);
  const auto first = Add(request);
  RunAll();
  EXPECT_EQ(seen_.found, 0);
  const auto second = Add(request);
  batch_->Iterate();
  EXPECT_EQ(seen_.found, 16);  // of 19, in blocks of 4
  EXPECT_EQ(LastStep().decoder_rows, 3);
  EXPECT_EQ(LastStep().projected_rows, 1);
  RunAll();
  Request other = request;
  other.salt = "tenant";
  const auto third = Add(other);
  other.source = Source(9);
  other.salt = "";
  const auto fourth = Add(other);
  RunAll();
  EXPECT_EQ(seen_.found, 16);
  for (const auto& observer : {first, second, third}) {
    ExpectAsIfAlone(request, observer.get());
  }
  ExpectAsIfAlone(other, fourth.get());
}

// A token that is forced needs no logits.
TEST_F(SuspensionTest, ForcedTokensAreNotProjected) {
  puppets_.options.limits.total_blocks = 100;
  Create();
  for (const DecodingOptions& options :
       {Greedy(5), Beams(3, 5), Samples(2, 5, 1)}) {
    Request request = MakeRequest(Source(4), options, nullptr);
    request.decoding->forced_first_id = 7;
    request.decoding->forced_last_id = 9;
    const auto observer = Add(request);
    batch_->Iterate();
    EXPECT_EQ(LastStep().projected_rows, 0);
    batch_->Iterate();
    EXPECT_GT(LastStep().projected_rows, 0);
    RunAll();
    EXPECT_EQ(LastStep().projected_rows, 0);
    const auto result = observer->Wait();
    for (const Hypothesis& hypothesis : result->hypotheses) {
      EXPECT_EQ(hypothesis.ids.front(), 7);
      EXPECT_EQ(hypothesis.ids.back(), 9);
    }
  }
}

class SuspensionSimulation : public SuspensionTest,
                             public testing::WithParamInterface<int> {};

// Random requests come, are cancelled and fail to fit, in a cache of any size,
// over thousands of steps: everybody is answered once, as if alone, and all
// blocks come back. From kDecodersAlone on, seeds are of models without an
// encoder.
constexpr int kDecodersAlone = 24;

void MakePrompt(Request* request) {
  request->source = {};
  request->states = States::kNone;
  request->cross_attention.reset();
  if (!request->decoding) request->decoding = Greedy(20);
  if (request->prefix.empty()) request->prefix = {kStart};
}

TEST_P(SuspensionSimulation, EveryRequestIsAnsweredAsIfAlone) {
  std::mt19937 random(GetParam());
  puppets_.options.end_bias = random() % 2 == 0 ? -100.0f : 1.0f;
  puppets_.options.limits.total_blocks = 30 + static_cast<int>(random() % 90);
  options_.max_rows = 8 + static_cast<int>(random() % 60);
  options_.encode_budget_tokens = 20 + static_cast<int>(random() % 200);
  const bool has_encoder = GetParam() < kDecodersAlone;
  if (!has_encoder) {
    puppets_.options.limits.encoder_layers = 0;
    puppets_.options.limits.max_source_tokens = 0;
  }
  Create();
  struct Asked {
    Request request;
    std::shared_ptr<RecordingObserver> observer;
    std::shared_ptr<Cancellation> cancellation;
  };
  std::vector<Asked> asked;
  std::optional<Request> next;
  for (int step = 0; step < 1000; ++step) {
    while (random() % 3 != 0) {
      if (!next) {
        next = RandomRequest(&random);
        // Many read the same source, so that they find each other's prefixes.
        if (random() % 2 == 0) next->source = Source(6);
        if (!has_encoder) MakePrompt(&*next);
      }
      if (!CheckRequest(*next, puppets_.options.limits, options_.max_rows)
               .ok()) {
        next.reset();
        continue;
      }
      const CallId call = random() % 5;
      if (CanJoin(*next, call) != FairQueue::Verdict::kTake) break;
      const auto cancellation = std::make_shared<Cancellation>();
      next->cancellation = cancellation;
      const auto observer = Add(*next, call);
      asked.push_back({*next, observer, cancellation});
      next.reset();
    }
    if (random() % 40 == 0 && !asked.empty()) {
      asked[random() % asked.size()].cancellation->Cancel();
    }
    batch_->DropDead();
    batch_->Iterate();
  }
  RunAll();
  EXPECT_GT(asked.size(), 20u);
  EXPECT_GT(seen_.found, 0);
  for (const Asked& one : asked) {
    ASSERT_EQ(one.observer->answers(), 1);
    if (one.observer->Wait().ok()) {
      ExpectAsIfAlone(one.request, one.observer.get());
    } else {
      EXPECT_TRUE(one.cancellation->cancelled());
    }
  }
  for (const PuppetLog::Step& step : puppets_.last_log().steps()) {
    ASSERT_LE(step.decoder_rows, options_.max_rows);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SuspensionSimulation,
                         testing::Range(0, kDecodersAlone + 8));

}  // namespace
}  // namespace trivium
