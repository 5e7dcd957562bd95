// Scores of given tokens: the questions of a pass to an engine, and its
// results.
#include "server/batching/score_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/batching/running_batch_fixture.h"

namespace trivium {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

Request Scored(std::vector<int32_t> tokens, Scoring scoring,
               std::string salt = "") {
  Request request = MakeRequest(Source(5), std::nullopt, nullptr);
  request.prefix = std::move(tokens);
  request.scoring = scoring;
  request.salt = std::move(salt);
  return request;
}

class ScorePassTest : public RunningBatchFixture {
 protected:
  ScorePassTest() {
    engine_ = puppets_.Make();
    source_ = engine_->AddSource(Source(5), {}).value();
    StepPlan plan;
    plan.encode = {{source_, engine_->limits().encoder_layers}};
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
  }
  ~ScorePassTest() override { engine_->ReleaseSource(source_); }

  // Returns the log-softmax of the engine's logits after each token of `ids`.
  std::vector<std::vector<double>> Logprobs(const std::vector<int32_t>& ids) {
    const HypothesisId hypothesis = engine_->AddHypothesis(source_);
    const std::vector<LogitsQuery> queries(ids.size(), {.all = true});
    StepPlan plan;
    plan.decode = {{hypothesis, ids, queries}};
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    std::vector<std::vector<double>> logprobs;
    for (const LogitsRow& row : result.rows[0].logits) {
      double sum = 0;
      for (const float logit : row.all) sum += std::exp(double{logit});
      auto& out = logprobs.emplace_back(row.all.begin(), row.all.end());
      for (double& value : out) value -= std::log(sum);
    }
    engine_->ReleaseHypothesis(hypothesis);
    return logprobs;
  }

  // Reads the request in steps of `chunk` tokens.
  Hypothesis Run(const Request& request, int chunk, int* found = nullptr) {
    ScorePass pass(engine_.get(), source_, request);
    if (found != nullptr) *found = pass.found();
    EXPECT_EQ(pass.read(), pass.found());
    StepResult result;
    while (pass.tokens_left() > 0) {
      StepPlan plan;
      pass.Plan(std::min(chunk, pass.tokens_left()), &plan);
      EXPECT_TRUE(engine_->Step(plan, &result).ok());
      pass.Apply(result.rows.at(0));
    }
    pass.End(engine_.get());
    return pass.Take();
  }

  std::unique_ptr<Engine> engine_;
  SourceId source_ = kNoSource;
  const std::vector<int32_t> ids_ = {kStart, 9, 4, 4, 31, 7, 12, 8, 8, 20, 3};
};

TEST_F(ScorePassTest, ReturnsTheLogSoftmaxOfEachScoredToken) {
  const auto logprobs = Logprobs(ids_);
  for (const int first : {1, 4, 10}) {
    const Request request = Scored(ids_, {.first = first});
    const Hypothesis scored = Run(request, 100);
    ASSERT_EQ(scored.ids, std::vector(ids_.begin() + first, ids_.end()));
    ASSERT_EQ(scored.logprobs.size(), scored.ids.size());
    double sum = 0;
    for (size_t i = 0; i < scored.ids.size(); ++i) {
      const double expected = logprobs[first + i - 1][scored.ids[i]];
      EXPECT_NEAR(scored.logprobs[i], expected, 1e-5) << first << " + " << i;
      sum += expected;
    }
    EXPECT_NEAR(scored.log_probability, sum, 1e-4);
    EXPECT_EQ(scored.score, scored.log_probability);
    EXPECT_TRUE(scored.top_logprobs.empty());
  }
}

TEST_F(ScorePassTest, AlternativesAreTheBestOfAllTokens) {
  const auto logprobs = Logprobs(ids_);
  const Hypothesis scored =
      Run(Scored(ids_, {.first = 2, .top_logprobs = 4}), 3);
  ASSERT_EQ(scored.top_logprobs.size(), scored.ids.size());
  for (size_t i = 0; i < scored.ids.size(); ++i) {
    std::vector<std::pair<double, int32_t>> order;
    for (int32_t id = 0; id < 40; ++id) {
      order.emplace_back(-logprobs[i + 1][id], id);
    }
    std::sort(order.begin(), order.end());
    ASSERT_EQ(scored.top_logprobs[i].size(), 4u);
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(scored.top_logprobs[i][k].token, order[k].second);
      EXPECT_NEAR(scored.top_logprobs[i][k].logprob, -order[k].first, 1e-5);
    }
  }
}

TEST_F(ScorePassTest, StepsOfAnySizeGiveTheSame) {
  const Request request = Scored(ids_, {.first = 3, .top_logprobs = 2}, "own");
  const Hypothesis whole = Run(request, 100);
  for (const int chunk : {1, 2, 3, 4, 7}) {
    SCOPED_TRACE(chunk);
    const Hypothesis cut = Run(request, chunk);
    ExpectSameHypotheses({whole}, {cut});
    ASSERT_EQ(cut.top_logprobs.size(), whole.top_logprobs.size());
    for (size_t i = 0; i < whole.top_logprobs.size(); ++i) {
      for (int k = 0; k < 2; ++k) {
        EXPECT_EQ(cut.top_logprobs[i][k].token, whole.top_logprobs[i][k].token);
        EXPECT_EQ(cut.top_logprobs[i][k].logprob,
                  whole.top_logprobs[i][k].logprob);
      }
    }
  }
}

// Only positions before scored tokens are projected, and the last token is
// never read.
TEST_F(ScorePassTest, AsksOnlyAboutScoredTokens) {
  const Request request = Scored(ids_, {.first = 8});
  ScorePass pass(engine_.get(), source_, request);
  EXPECT_EQ(pass.tokens_left(), 10);
  StepPlan plan;
  pass.Plan(5, &plan);
  EXPECT_EQ(plan.decode[0].tokens.size(), 5u);
  EXPECT_TRUE(plan.decode[0].queries.empty());
  StepResult result;
  ASSERT_TRUE(engine_->Step(plan, &result).ok());
  pass.Apply(result.rows[0]);
  EXPECT_EQ(pass.read(), 5);
  plan.Clear();
  pass.Plan(5, &plan);
  EXPECT_EQ(plan.decode[0].queries.size(), 3u);
  ASSERT_TRUE(engine_->Step(plan, &result).ok());
  pass.Apply(result.rows[0]);
  EXPECT_EQ(pass.tokens_left(), 0);
  EXPECT_EQ(pass.Take().ids, (std::vector<int32_t>{8, 20, 3}));
  pass.End(engine_.get());
}

// The answers of a choice follow one question, which is cached for its salt
// only.
TEST_F(ScorePassTest, FindsABeginningThatAnotherRequestRead) {
  std::vector<int32_t> other = ids_;
  other.back() = 5;
  int found = -1;
  const Hypothesis first = Run(Scored(ids_, {.first = 9}, "a"), 4, &found);
  EXPECT_EQ(found, 0);
  const Hypothesis again = Run(Scored(other, {.first = 9}, "a"), 4, &found);
  EXPECT_EQ(found, 8);  // blocks of 4
  EXPECT_EQ(again.logprobs[0], first.logprobs[0]);
  EXPECT_NEAR(again.logprobs[1], Logprobs(other)[9][5], 1e-5);
  Run(Scored(other, {.first = 9}, "b"), 4, &found);
  EXPECT_EQ(found, 0);
}

// With a shortlist, a token that is not on it is impossible. If the list has
// only the scored token, every other token is impossible.
TEST_F(ScorePassTest, TokensOutsideTheShortlistAreImpossible) {
  const Request request =
      Scored({kStart, 9, 4, 7}, {.first = 1, .top_logprobs = 2});
  ScorePass pass(engine_.get(), source_, request);
  StepPlan plan;
  pass.Plan(3, &plan);
  const Candidate best[] = {{6, 1.0f}, {8, 0.5f}};
  const float given[] = {kNever, 0.25f, kNever};
  const float rest = std::log(std::exp(1.0f) + std::exp(0.5f));
  LogitsRow rows[3];
  for (int i = 0; i < 3; ++i) {
    rows[i].rest_log_sum_exp = kNever;
    rows[i].watched = {&given[i], 1};
  }
  rows[0].best = best;
  rows[0].rest_log_sum_exp = rest;
  StepResult::Row row;
  row.logits = rows;
  pass.Apply(row);
  pass.End(engine_.get());
  const Hypothesis scored = pass.Take();
  ASSERT_EQ(scored.logprobs.size(), 3u);
  // The token is not on the list; the others share all of the probability.
  EXPECT_EQ(scored.logprobs[0], kNever);
  ASSERT_EQ(scored.top_logprobs[0].size(), 2u);
  EXPECT_EQ(scored.top_logprobs[0][0].token, 6);
  EXPECT_NEAR(scored.top_logprobs[0][0].logprob, 1 - rest, 1e-6);
  EXPECT_EQ(scored.top_logprobs[0][1].token, 8);
  // The only token on the list is certain.
  EXPECT_EQ(scored.logprobs[1], 0);
  ASSERT_EQ(scored.top_logprobs[1].size(), 1u);
  EXPECT_EQ(scored.top_logprobs[1][0].token, 4);
  // No token is possible, and the result has no NaN.
  EXPECT_EQ(scored.logprobs[2], kNever);
  EXPECT_TRUE(scored.top_logprobs[2].empty());
  EXPECT_EQ(scored.log_probability, kNever);
}

TEST_F(ScorePassTest, ARunningBatchCutsItIntoChunks) {
  std::vector<int32_t> ids = {kStart};
  for (int i = 0; i < 60; ++i) ids.push_back(2 + i * 7 % 37);
  const auto logprobs = Logprobs(ids);
  for (const int max_rows : {256, 8}) {
    options_.max_rows = max_rows;
    Create();
    const auto scored = Add(Scored(ids, {.first = 50}));
    const auto beside =
        Add(MakeRequest(Source(6), Beams(3, 20), nullptr), /*call=*/2);
    RunAll();
    const auto result = scored->Wait();
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE(result->scored.has_value());
    const Hypothesis& hypothesis = *result->scored;
    ASSERT_EQ(hypothesis.logprobs.size(), 11u);
    for (size_t i = 0; i < hypothesis.logprobs.size(); ++i) {
      EXPECT_NEAR(hypothesis.logprobs[i], logprobs[49 + i][ids[50 + i]], 1e-5);
    }
    EXPECT_TRUE(beside->Wait().ok());
  }
}

}  // namespace
}  // namespace trivium
