#include "server/batching/running_batch.h"

#include <new>
#include <span>
#include <vector>

#include "tests/server/batching/running_batch_fixture.h"
#include "tests/support/error_texts.h"
#include "tests/support/forwarding_engine.h"

namespace trivium {
namespace {

using RunningBatchTest = RunningBatchFixture;
using Verdict = FairQueue::Verdict;

TEST_F(RunningBatchTest, DecodesInTheStepThatFinishesTheSource) {
  puppets_.options.end_bias = -100;
  Create();
  const auto observer = Add(MakeRequest(Source(20), Greedy(5), nullptr));
  batch_->Iterate();
  EXPECT_EQ(LastStep().encode_work, 20 * 6);
  EXPECT_EQ(LastStep().decoder_rows, 1);
  for (int i = 1; i < 5; ++i) {
    EXPECT_FALSE(observer->done());
    batch_->Iterate();
  }
  const auto result = observer->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->hypotheses[0].ids.size(), 5u);
  EXPECT_EQ(result->hypotheses[0].reason, FinishReason::kLength);
  EXPECT_EQ(result->source_tokens, 20);
  EXPECT_TRUE(batch_->empty());
  EXPECT_EQ(batch_->pending_tokens(Priority::kBackground), 0);
}

// Has no memory to count the second request that is late.
class ForgetfulObserver : public BatchingObserver {
 public:
  void OnDeadlineMissed(const ServedModel&, const char*) override {
    if (++late_ == 2) throw std::bad_alloc();
  }

 private:
  int late_ = 0;
};

TEST_F(RunningBatchTest, TellsTheTokensThatItHasDone) {
  Create();
  Add(MakeRequest(Source(9), Greedy(12), nullptr));
  EXPECT_EQ(batch_->TakeDone(), 0);
  RunAll();
  EXPECT_GE(batch_->TakeDone(), 9 + 12);
  EXPECT_EQ(batch_->TakeDone(), 0);
}

TEST_F(RunningBatchTest, AnswersOnceIfMemoryEndsBetweenTwoLateRequests) {
  ForgetfulObserver observer;
  options_.observer = &observer;
  puppets_.options.end_bias = -100;
  Create();
  Request request = MakeRequest(Source(4), Greedy(8), nullptr);
  request.deadline = clock_.Now() + absl::Seconds(1);
  const auto first = Add(request);
  const auto second = Add(request);
  batch_->Iterate();
  clock_.Advance(absl::Seconds(2));
  EXPECT_THROW(batch_->DropDead(), std::bad_alloc);
  batch_->DropDead();
  EXPECT_EQ(first->answers(), 1);
  EXPECT_EQ(second->answers(), 1);
  EXPECT_TRUE(batch_->empty());
}

TEST_F(RunningBatchTest, FeedsALongPrefixInChunksWithinTheRows) {
  options_.max_rows = 16;
  Create();
  Request request = MakeRequest(Source(4), Greedy(3), nullptr);
  for (int i = 0; i < 40; ++i) request.prefix.push_back(i % 30 + 2);
  const auto chunked = Add(request);
  const auto beams = Add(MakeRequest(Source(4, 9), Beams(8, 20), nullptr), 2);
  RunAll();
  for (const PuppetLog::Step& step : puppets_.last_log().steps()) {
    EXPECT_LE(step.decoder_rows, 16);
  }
  // The same prefix in one chunk.
  options_.max_rows = 256;
  Create();
  const auto whole = Add(request);
  RunAll();
  ExpectSameHypotheses(whole->Wait()->hypotheses, chunked->Wait()->hypotheses);
  EXPECT_TRUE(beams->Wait().ok());
}

TEST_F(RunningBatchTest, EncodesEqualSourcesOnceAndCountsThemOnce) {
  Create();
  const auto first = Add(MakeRequest(Source(40), Greedy(8), nullptr));
  const auto second = Add(MakeRequest(Source(40), Beams(4, 8), nullptr), 2);
  batch_->Iterate();
  EXPECT_EQ(LastStep().encode_work, 40 * 6);
  EXPECT_EQ(LastStep().decoder_rows, 2);
  const auto third = Add(MakeRequest(Source(40), Greedy(8), nullptr), 3);
  batch_->Iterate();
  EXPECT_EQ(LastStep().encode_work, 0);
  RunAll();
  EXPECT_FALSE(first->Wait()->shared_source);
  EXPECT_TRUE(second->Wait()->shared_source);
  EXPECT_TRUE(third->Wait()->shared_source);
  ExpectSameHypotheses(first->Wait()->hypotheses, third->Wait()->hypotheses);
}

TEST_F(RunningBatchTest, KeepsHeadroomForNewCalls) {
  options_.max_rows = 16;
  puppets_.options.end_bias = -100;
  Create();
  std::vector<std::shared_ptr<RecordingObserver>> stream;
  Request request = MakeRequest(Source(3), Greedy(10), nullptr);
  for (int i = 0; i < 14; ++i) {
    EXPECT_EQ(CanJoin(request, 1), Verdict::kTake);
    stream.push_back(Add(request, 1));
  }
  EXPECT_EQ(CanJoin(request, 1), Verdict::kSkip);
  EXPECT_EQ(CanJoin(request, 2), Verdict::kTake);
  // Two rows are left. A new call that needs more is overtaken by no call of
  // its client.
  EXPECT_EQ(CanJoin(MakeRequest(Source(3), Beams(3, 10), nullptr), 2),
            Verdict::kSkipClient);
  EXPECT_EQ(CanJoin(request, 3), Verdict::kSkipClient);
  RunAll();
  EXPECT_EQ(CanJoin(request, 1), Verdict::kTake);
}

// A new call may take the last block.
TEST_F(RunningBatchTest, ANewCallJoinsIfItsBlocksAreThere) {
  const Request request = MakeRequest(Source(3), Greedy(10), nullptr);
  const auto cost = Queued(1, request, puppets_.options.limits)->cost;
  // Two requests, and a block for the next token of each.
  const auto needed = static_cast<int>(
      2 * (cost.source_blocks + cost.prefix_blocks + cost.rows));
  for (const int missing : {1, 0}) {
    puppets_.options.limits.total_blocks = needed - missing;
    Create();
    Add(request, 1);
    // Of another source, which it does not share.
    EXPECT_EQ(CanJoin(MakeRequest(Source(3, 20), Greedy(10), nullptr), 2),
              missing == 0 ? Verdict::kTake : Verdict::kStop);
    RunAll();
  }
}

// Where one client's calls are as many as the best number of rows, another one
// does not wait until they end.
TEST_F(RunningBatchTest, FewClientsThatRunNothingExceedTheRowLimit) {
  constexpr ClientId kGreedy = 1;
  constexpr int kLimit = 64, kFew = kLimit / 8;
  puppets_.options.end_bias = -100;
  Create();
  std::vector<std::shared_ptr<RecordingObserver>> kept;
  Request request = MakeRequest(Source(3), Greedy(10), nullptr);
  CallId call = 1;
  const auto join = [&](ClientId client) {
    request.client = client;
    const Verdict verdict = CanJoin(request, call);
    if (verdict == Verdict::kTake) kept.push_back(Add(request, call));
    ++call;
    return verdict;
  };
  for (int i = 0; i < kLimit; ++i) ASSERT_EQ(join(kGreedy), Verdict::kTake);
  EXPECT_EQ(join(kGreedy), Verdict::kSkipClient);
  for (ClientId client = 2; client <= kFew; ++client) {
    EXPECT_EQ(join(client), Verdict::kTake);
    EXPECT_EQ(join(client), Verdict::kSkipClient) << "it runs one now";
  }
  EXPECT_EQ(join(kFew + 1), Verdict::kStop);
  RunAll();
  EXPECT_EQ(join(kGreedy), Verdict::kTake);
  RunAll();
}

TEST_F(RunningBatchTest, ARequestThatNeedsManyRowsIsOvertakenAFewTimes) {
  options_.max_rows = 32;
  constexpr int kFew = 32 / 8;
  puppets_.options.end_bias = -100;
  Create();
  std::vector<std::shared_ptr<RecordingObserver>> kept;
  Request request = MakeRequest(Source(3), Greedy(10), nullptr);
  request.client = 1;
  CallId call = 1;
  for (; call <= 20; ++call) kept.push_back(Add(request, call));
  Request wide = MakeRequest(Source(3), Beams(16, 10), nullptr);
  wide.client = 1;
  EXPECT_EQ(CanJoin(wide, ++call), Verdict::kSkipClient);
  for (int i = 0; i < kFew; ++i) {
    ++request.client;
    EXPECT_EQ(CanJoin(request, ++call), Verdict::kTake);
    kept.push_back(Add(request, call));
  }
  ++request.client;
  EXPECT_EQ(CanJoin(request, ++call), Verdict::kStop);
  RunAll();
}

TEST_F(RunningBatchTest, PacesNewcomersByTheEncodeBudget) {
  options_.encode_budget_tokens = 64;
  Create();
  std::vector<std::shared_ptr<RecordingObserver>> kept;
  int32_t first = 2;
  const auto next = [&first] {
    return MakeRequest(Source(32, first++), Greedy(4), nullptr);
  };
  kept.push_back(Add(next(), 1));
  EXPECT_EQ(CanJoin(next(), 1), Verdict::kTake);
  kept.push_back(Add(next(), 1));
  EXPECT_EQ(CanJoin(next(), 1), Verdict::kSkip);
  for (CallId call = 2; call < 8; ++call) {
    EXPECT_EQ(CanJoin(next(), call), Verdict::kTake);
    kept.push_back(Add(next(), call));
  }
  EXPECT_EQ(CanJoin(next(), 8), Verdict::kStop);
  batch_->Iterate();
  EXPECT_EQ(LastStep().encode_work, 64 * 6);
  EXPECT_EQ(CanJoin(next(), 8), Verdict::kTake);
  RunAll();
}

TEST_F(RunningBatchTest, StreamsEverythingInOrderAndNothingTwice) {
  puppets_.options.end_bias = 1;
  Create();
  std::vector<DecodingOptions> all = {Greedy(12), Beams(4, 12),
                                      Samples(3, 12, 5)};
  for (const DecodingOptions& options : all) {
    Request request = MakeRequest(Source(9), options, nullptr);
    request.stream = true;
    const auto observer = Add(std::move(request));
    RunAll();
    const auto result = observer->Wait();
    ASSERT_TRUE(result.ok());
    for (size_t i = 0; i < result->hypotheses.size(); ++i) {
      EXPECT_EQ(observer->ids(i), result->hypotheses[i].ids);
      EXPECT_EQ(observer->logprobs(i), result->hypotheses[i].logprobs);
    }
    EXPECT_EQ(observer->tokens_after_answer(), 0);
  }
  // A greedy search streams token by token.
  Request request = MakeRequest(Source(9), Greedy(12), nullptr);
  request.stream = true;
  const auto observer = Add(std::move(request));
  batch_->Iterate();
  EXPECT_EQ(observer->ids(0).size(), 1u);
  batch_->Iterate();
  EXPECT_EQ(observer->ids(0).size(), 2u);
  batch_->Abort(absl::UnavailableError("bye"));
}

TEST_F(RunningBatchTest, FreesTheRowsOfEndedSamples) {
  options_.max_rows = 8;
  puppets_.options.end_bias = 3;
  Create();
  const auto samples = Add(MakeRequest(Source(3), Samples(8, 60, 3), nullptr));
  const Request one = MakeRequest(Source(3), Greedy(4), nullptr);
  EXPECT_EQ(CanJoin(one, 2), Verdict::kSkipClient);
  int row_counts = 0;
  int rows = 0;
  while (!batch_->empty()) {
    batch_->Iterate();
    if (LastStep().decoder_rows != rows) ++row_counts;
    rows = LastStep().decoder_rows;
    // Only the samples that still run have reserved rows.
    if (row_counts > 2) {
      EXPECT_EQ(CanJoin(one, 2), Verdict::kTake);
    }
  }
  EXPECT_GT(row_counts, 3);  // 1, 8, fewer...
  EXPECT_TRUE(samples->Wait().ok());
}

TEST_F(RunningBatchTest, DropsCancelledAndLateRequestsAndFreesTheirBlocks) {
  puppets_.options.end_bias = -100;
  Create();
  const auto cancellation = std::make_shared<Cancellation>();
  Request cancelled = MakeRequest(Source(20), Beams(4, 50), nullptr);
  cancelled.cancellation = cancellation;
  Request late = MakeRequest(Source(20), Greedy(50), nullptr);
  late.deadline = clock_.Now() + absl::Seconds(1);
  const auto first = Add(cancelled);
  const auto second = Add(late, 2);
  for (int i = 0; i < 3; ++i) batch_->Iterate();
  batch_->DropDead();
  EXPECT_FALSE(first->done() || second->done());
  cancellation->Cancel();
  batch_->DropDead();
  EXPECT_EQ(first->Wait().status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(second->done());
  batch_->Iterate();
  EXPECT_EQ(LastStep().decoder_rows, 1);
  clock_.Advance(absl::Seconds(1));
  batch_->DropDead();
  EXPECT_EQ(second->Wait().status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(batch_->empty());
}

TEST_F(RunningBatchTest, AnEngineErrorFailsItsPlanAndNothingElse) {
  bool fail = false;
  puppets_.options.end_bias = -100;
  puppets_.options.on_step = [&fail](const StepPlan&) {
    return fail ? absl::InternalError("boom") : absl::OkStatus();
  };
  options_.encode_budget_tokens = 10;
  Create();
  const auto running = Add(MakeRequest(Source(10), Greedy(50), nullptr), 1);
  batch_->Iterate();
  const auto encoding = Add(MakeRequest(Source(60), Greedy(9), nullptr), 2);
  const auto waiting = Add(MakeRequest(Source(61), Greedy(9), nullptr), 3);
  fail = true;
  batch_->Iterate();
  EXPECT_THAT(running->Wait(), IsError(absl::StatusCode::kInternal, "boom"));
  EXPECT_EQ(encoding->Wait().status().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(waiting->done());
  fail = false;
  RunAll();
  EXPECT_TRUE(waiting->Wait().ok());
}

TEST_F(RunningBatchTest, AnswersRequestsThatTheEngineRefuses) {
  Create();
  const auto bad = Add(MakeRequest(Source(4, -3), Greedy(5), nullptr), 1);
  const auto bad_too = Add(MakeRequest(Source(4, -3), Greedy(5), nullptr), 2);
  const auto good = Add(MakeRequest(Source(4), Greedy(5), nullptr), 3);
  RunAll();
  EXPECT_EQ(bad->Wait().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(bad_too->Wait().status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(good->Wait().ok());
}

// Weighs two tokens of any source.
class SparseEngine : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;
  std::span<const SparseWeight> SparseEmbedding(SourceId) const override {
    return weights_;
  }

 private:
  const std::vector<SparseWeight> weights_ = {{3, 0.5f}, {7, 0.25f}};
};

TEST_F(RunningBatchTest, ReturnsSparseEmbeddings) {
  options_.model = TheModel();
  options_.clock = &clock_;
  batch_ = std::make_unique<RunningBatch>(
      options_, std::make_unique<SparseEngine>(puppets_.Make()));
  Request request = MakeRequest(Source(7), std::nullopt, nullptr);
  request.sparse = true;
  const auto observer = Add(request);
  RunAll();
  const auto result = observer->Wait();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->sparse, (std::vector<SparseWeight>{{3, 0.5f}, {7, 0.25f}}));
}

TEST_F(RunningBatchTest, RunsADecoderWithoutAnEncoder) {
  puppets_.options.limits.encoder_layers = 0;
  Create();
  const auto observer = Add(MakeRequest(Source(0), Beams(2, 6), nullptr));
  RunAll();
  EXPECT_EQ(observer->Wait()->hypotheses.size(), 2u);
}

}  // namespace
}  // namespace trivium
