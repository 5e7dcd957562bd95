// One sequence and a puppet engine, iteration by iteration: its phases, what it
// plans and claims in each of them, and suspension in each of them.
#include "server/batching/sequence.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/batching/random_request.h"

namespace trivium {
namespace {

class SequenceTest : public testing::Test {
 protected:
  SequenceTest() { puppets_.options.end_bias = -100; }
  ~SequenceTest() override {
    Destroy();
    puppets_.ExpectCleanUse();
  }

  void Create(Request request) {
    Destroy();
    engine_ = puppets_.Make();
    sources_ = std::make_unique<SourceTable>(engine_.get());
    observer_ = std::make_shared<RecordingObserver>();
    request.observer = observer_;
    std::unique_ptr<QueuedRequest> queued =
        Queued(1, std::move(request), engine_->limits());
    const int slot = AcquireSource(*queued);
    sequence_ = std::make_unique<Sequence>(
        std::move(queued), engine_.get(), sources_.get(), slot,
        /*shared_source=*/false, /*speculate=*/true, absl::UnixEpoch());
    ASSERT_TRUE(sequence_->Open().ok());
  }

  // Plans an iteration.
  void Plan(int spare_rows) {
    plan_.Clear();
    sources_->PlanEncode({encode_tokens_, encode_tokens_}, &plan_.encode);
    sequence_->Plan(&spare_rows, &plan_);
    rows_ = sequence_->PlannedRows(plan_);
  }
  void Iterate(int spare_rows = 100) {
    Plan(spare_rows);
    ASSERT_TRUE(engine_->Step(plan_, &result_).ok());
    sources_->CommitPlan();
    EXPECT_TRUE(sequence_->IsFinite(result_));
    sequence_->Apply(result_);
  }
  // Suspends it between the plan and the step, and resumes it.
  void SuspendAndResume() {
    Plan(/*spare_rows=*/100);
    sequence_->Suspend(&plan_);
    EXPECT_TRUE(plan_.encode.empty());
    EXPECT_TRUE(plan_.decode.empty());
    EXPECT_TRUE(sequence_->suspended());
    EXPECT_FALSE(sequence_->planned());
    EXPECT_FALSE(sequence_->may_hold_blocks());
    EXPECT_EQ(sequence_->MinRows(), 0);
    EXPECT_EQ(engine_->free_blocks(), engine_->limits().total_blocks);
    sequence_->Resume(AcquireSource(sequence_->queued()));
    EXPECT_TRUE(sequence_->in_source_phase());
    ASSERT_TRUE(sequence_->Open().ok());
  }
  RequestResult Result() {
    EXPECT_TRUE(sequence_->done());
    return sequence_->TakeResult(absl::UnixEpoch()).value();
  }
  Puppets puppets_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<SourceTable> sources_;
  std::unique_ptr<Sequence> sequence_;
  std::shared_ptr<RecordingObserver> observer_;
  StepPlan plan_;
  StepResult result_;
  int rows_ = 0;              // of the decoder, in the last plan
  int encode_tokens_ = 1000;  // budget of an iteration

 private:
  int AcquireSource(const QueuedRequest& queued) {
    bool shared = false;
    return queued.request.source.ids.empty()
               ? -1
               : sources_->Acquire(queued, &shared);
  }
  void Destroy() {
    if (sequence_ != nullptr) sequence_->End();
    sequence_.reset();
    sources_.reset();
    engine_.reset();
  }
};

Request WithLongPrefix(Request request, int tokens) {
  for (int i = 0; i < tokens; ++i) request.prefix.push_back(2 + i % 30);
  return request;
}

Request ScoringRequest(std::optional<DecodingOptions> decoding) {
  Request request = MakeRequest(Source(6), std::move(decoding), nullptr);
  request.prefix = {kStart};
  request = WithLongPrefix(std::move(request), 9);
  request.scoring = Scoring{.first = 3};
  return request;
}

TEST_F(SequenceTest, AnEncodingIsDoneWhenItsSourceIs) {
  Request request = MakeRequest(Source(6), std::nullopt, nullptr);
  request.states = States::kAll;
  request.hidden_layers = {1, 2};
  Create(request);
  EXPECT_TRUE(sequence_->in_source_phase());
  EXPECT_FALSE(sequence_->may_hold_blocks());
  EXPECT_EQ(sequence_->MinRows(), 0);
  EXPECT_EQ(sequence_->pending_tokens(), 6);
  Iterate();
  EXPECT_EQ(rows_, 0);
  EXPECT_EQ(sequence_->pending_tokens(), 0);
  const RequestResult result = Result();
  EXPECT_EQ(result.states.size(), 6u * puppets_.options.d_model);
  EXPECT_EQ(result.hidden.size(), 2 * result.states.size());
}

TEST_F(SequenceTest, ATraceHasTheKeysOfItsHead) {
  for (const bool cross : {false, true}) {
    Request request = MakeRequest(Source(6), Greedy(4), nullptr);
    request.prefix = {kStart};
    request.traced_head = HeadChoice{.cross = cross};
    Create(request);
    while (!sequence_->done()) Iterate();
    const RequestResult result = Result();
    ASSERT_TRUE(result.head_trace.has_value());
    EXPECT_EQ(result.head_trace->queries, 4);
    EXPECT_EQ(result.head_trace->keys, cross ? 6 : 4);
  }
}

TEST_F(SequenceTest, ATranslationReadsItsPrefixInChunksAndThenSearches) {
  // 1 + 9 tokens of prefix in blocks of 4, and 3 new ones.
  Create(WithLongPrefix(MakeRequest(Source(6), Greedy(3), nullptr), 9));
  EXPECT_TRUE(sequence_->in_source_phase());
  EXPECT_EQ(sequence_->owed_blocks(), 3);
  const int64_t source_blocks = sequence_->queued().cost.source_blocks;
  EXPECT_EQ(sequence_->held_blocks(), source_blocks);
  EXPECT_EQ(sequence_->pending_tokens(), 6 + 9 + 3);

  // The step that finishes the source already reads the prefix.
  Iterate(/*spare_rows=*/4);
  EXPECT_EQ(rows_, 5);
  EXPECT_FALSE(sequence_->in_source_phase());
  EXPECT_FALSE(sequence_->searching());
  EXPECT_EQ(sequence_->owed_blocks(), 1);

  // The step that ends the prefix already chooses a token.
  Iterate(/*spare_rows=*/4);
  EXPECT_EQ(rows_, 5);
  EXPECT_TRUE(sequence_->searching());
  EXPECT_EQ(sequence_->owed_blocks(), 0);
  EXPECT_EQ(sequence_->held_blocks(), source_blocks + 3);
  EXPECT_EQ(sequence_->pending_tokens(), 2);
  Iterate();
  EXPECT_EQ(rows_, 1);
  EXPECT_EQ(sequence_->pending_tokens(), 1);
  Iterate();
  EXPECT_EQ(sequence_->pending_tokens(), 0);
  EXPECT_EQ(Result().hypotheses[0].ids.size(), 3u);
}

TEST_F(SequenceTest, WinnersAreReadOnceMoreForTheirAttention) {
  Request request = MakeRequest(Source(6), Beams(2, 4), nullptr);
  request.cross_attention.emplace();
  Create(request);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(sequence_->done());
    Iterate();
  }
  // Two hypotheses, of 4 tokens each, a token of each at least.
  EXPECT_FALSE(sequence_->searching());
  EXPECT_EQ(sequence_->MinRows(), 2);
  Iterate(/*spare_rows=*/3);
  EXPECT_EQ(rows_, 5);
  EXPECT_FALSE(sequence_->done());
  Iterate();
  const RequestResult result = Result();
  ASSERT_EQ(result.cross_attention.size(), 2u);
  EXPECT_EQ(result.cross_attention[0].queries, 4);
  EXPECT_EQ(result.cross_attention[0].keys, 6);
}

TEST_F(SequenceTest, ScoringAsksAboutGivenTokensOnly) {
  Create(ScoringRequest(std::nullopt));
  EXPECT_EQ(sequence_->pending_tokens(), 6 + 9);
  Iterate(/*spare_rows=*/3);
  EXPECT_EQ(rows_, 4);
  EXPECT_EQ(sequence_->pending_tokens(), 5);
  Iterate();
  const RequestResult result = Result();
  ASSERT_TRUE(result.scored);
  EXPECT_EQ(result.scored->ids.size(), 7u);
  EXPECT_TRUE(result.hypotheses.empty());
}

TEST_F(SequenceTest, APromptIsScoredBeforeItsSearch) {
  Create(ScoringRequest(Greedy(2)));
  Iterate();
  // The last token of the prefix is left, for the search.
  EXPECT_FALSE(sequence_->searching());
  EXPECT_EQ(sequence_->pending_tokens(), 1 + 2);
  Iterate();
  EXPECT_EQ(rows_, 1);
  EXPECT_TRUE(sequence_->searching());
  Iterate();
  const RequestResult result = Result();
  EXPECT_EQ(result.scored->ids.size(), 7u);
  EXPECT_EQ(result.hypotheses[0].ids.size(), 2u);
}

TEST_F(SequenceTest, APausedSequenceKeepsItsBlocksAndPlansNothing) {
  Create(MakeRequest(Source(6), Greedy(3), nullptr));
  // Its source is encoded nevertheless.
  sequence_->set_paused(true);
  Iterate();
  EXPECT_EQ(rows_, 0);
  EXPECT_TRUE(sequence_->in_source_phase());
  sequence_->set_paused(false);
  Iterate();
  EXPECT_TRUE(sequence_->searching());
  EXPECT_TRUE(plan_.encode.empty());

  sequence_->set_paused(true);
  EXPECT_EQ(sequence_->MinRows(), 0);
  Plan(/*spare_rows=*/100);
  EXPECT_FALSE(sequence_->planned());
  EXPECT_EQ(sequence_->Apply(result_), 0);
  EXPECT_GT(sequence_->held_blocks(), 0);
  sequence_->set_paused(false);
  Iterate();
  Iterate();
  EXPECT_EQ(Result().hypotheses[0].ids.size(), 3u);
}

TEST_F(SequenceTest, RowsOfEndedSamplesAreFree) {
  puppets_.options.end_bias = 0;
  Create(MakeRequest(Source(6), Samples(4, 200, /*seed=*/7), nullptr));
  EXPECT_EQ(sequence_->reserved_rows(), 4);
  int64_t rows = 4;
  while (!sequence_->done()) {
    Iterate();
    EXPECT_LE(sequence_->reserved_rows(), rows);
    rows = sequence_->reserved_rows();
  }
  EXPECT_EQ(rows, 1);
}

TEST_F(SequenceTest, DroppedGuessesLeaveThePlan) {
  puppets_.options.limits.encoder_layers = 0;
  puppets_.options.limits.max_source_tokens = 0;
  Request request = MakeRequest({}, Greedy(30), nullptr);
  request.prefix.assign(8, 5);
  request.decoding->logit_bias = {{5, 100.0f}};
  Create(request);
  EXPECT_EQ(sequence_->Draft(/*price=*/0, /*most=*/3, 0),
            0);  // not before kSearch
  Iterate();
  ASSERT_TRUE(sequence_->searching());

  EXPECT_EQ(sequence_->Draft(/*price=*/0, /*most=*/3, 0), 3);
  Iterate();
  EXPECT_EQ(rows_, 4);
  EXPECT_EQ(sequence_->accepted(), 3);
  EXPECT_EQ(sequence_->pending_tokens(), 30 - 1 - 4);

  EXPECT_EQ(sequence_->Draft(/*price=*/0, /*most=*/3, 0), 3);
  Plan(/*spare_rows=*/0);
  EXPECT_EQ(rows_, 4);
  sequence_->DropDraft(&plan_);
  EXPECT_EQ(sequence_->PlannedRows(plan_), 1);
  ASSERT_TRUE(engine_->Step(plan_, &result_).ok());
  EXPECT_EQ(sequence_->Apply(result_), 1);
  EXPECT_EQ(sequence_->drafted(), 0);

  // The last new token is never read, so it is never a guess.
  while (sequence_->pending_tokens() > 3) Iterate();
  EXPECT_EQ(sequence_->Draft(/*price=*/0, /*most=*/15, 0), 2);
  SuspendAndResume();
  EXPECT_EQ(sequence_->drafted(), 0);
  while (!sequence_->done()) Iterate();
  EXPECT_EQ(Result().hypotheses[0].ids, std::vector<int32_t>(30, 5));
}

// Suspends each request once, before each of its iterations: in kSource, in the
// middle of kPrefix and kScore, in kSearch and in kAttention.
TEST_F(SequenceTest, SuspensionInAnyPhaseChangesNoAnswer) {
  std::vector<std::pair<std::string, Request>> requests;
  requests.emplace_back(
      "greedy", WithLongPrefix(MakeRequest(Source(6), Greedy(9), nullptr), 9));
  requests.emplace_back(
      "beams", WithLongPrefix(MakeRequest(Source(6), Beams(3, 9), nullptr), 5));
  requests.emplace_back("samples",
                        MakeRequest(Source(6), Samples(3, 9, 4), nullptr));
  requests.emplace_back("attention",
                        MakeRequest(Source(6), Beams(2, 5), nullptr));
  requests.back().second.cross_attention.emplace();
  requests.emplace_back("scores", ScoringRequest(std::nullopt));
  requests.emplace_back("scores and search", ScoringRequest(Greedy(5)));
  // Few layers and rows at a time, so that no phase is over in one iteration.
  encode_tokens_ = 2;
  constexpr int kSpareRows = 2;
  for (auto& [name, request] : requests) {
    request.stream = request.decoding.has_value();
    Create(request);
    int iterations = 0;
    for (; !sequence_->done(); ++iterations) Iterate(kSpareRows);
    const RequestResult expected = Result();
    for (int at = 0; at < iterations; ++at) {
      SCOPED_TRACE(name + ", before iteration " + std::to_string(at));
      Create(request);
      for (int i = 0; i < at; ++i) Iterate(kSpareRows);
      const int64_t pending = sequence_->pending_tokens();
      SuspendAndResume();
      // The tokens that it had read count as work again; those that it had
      // chosen do not.
      EXPECT_GE(sequence_->pending_tokens(), pending);
      EXPECT_LE(sequence_->pending_tokens(), sequence_->queued().cost.tokens);
      while (!sequence_->done()) Iterate(kSpareRows);
      const RequestResult result = Result();
      ExpectSameResult(result, expected);
      ASSERT_EQ(result.scored.has_value(), expected.scored.has_value());
      if (result.scored) {
        EXPECT_EQ(result.scored->logprobs, expected.scored->logprobs);
      }
      // Nothing is streamed twice.
      for (size_t i = 0; request.stream && i < result.hypotheses.size(); ++i) {
        EXPECT_EQ(observer_->ids(static_cast<int>(i)),
                  result.hypotheses[i].ids);
      }
    }
  }
}

// The second suspension comes after it has planned to read its tokens again.
TEST_F(SequenceTest, MayBeSuspendedAgainWhileItRereads) {
  const Request request =
      WithLongPrefix(MakeRequest(Source(6), Beams(3, 12), nullptr), 5);
  Create(request);
  while (!sequence_->done()) Iterate();
  const RequestResult expected = Result();
  Create(request);
  for (int i = 0; i < 8; ++i) Iterate();
  ASSERT_TRUE(sequence_->searching());
  SuspendAndResume();
  EXPECT_GT(sequence_->owed_blocks(), 0);
  SuspendAndResume();
  EXPECT_GT(sequence_->owed_blocks(), 0);
  while (!sequence_->done()) Iterate();
  ExpectSameResult(Result(), expected);
}

TEST_F(SequenceTest, MayEndInAnyPhase) {
  Request request =
      WithLongPrefix(MakeRequest(Source(6), Beams(2, 4), nullptr), 6);
  request.cross_attention.emplace();
  for (int iterations = 0; iterations < 10; ++iterations) {
    Create(request);
    for (int i = 0; i < iterations && !sequence_->done(); ++i) Iterate(2);
    sequence_->End();
    EXPECT_TRUE(sequence_->ended());
    EXPECT_EQ(engine_->free_blocks(), engine_->limits().total_blocks);
    sequence_.reset();
  }
}

}  // namespace
}  // namespace trivium
