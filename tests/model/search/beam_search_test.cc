#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/search/decoding.h"
#include "tests/model/search/random_options.h"
#include "tests/model/search/reference_search.h"
#include "tests/model/search/toy_model.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

void ExpectSame(const std::vector<Hypothesis>& actual,
                const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE("hypothesis " + std::to_string(i));
    EXPECT_EQ(actual[i].ids, expected[i].ids);
    EXPECT_NEAR(actual[i].score, expected[i].score,
                1e-5 * std::max(1.0f, std::abs(expected[i].score)));
    EXPECT_NEAR(actual[i].log_probability, expected[i].log_probability, 1e-4);
    EXPECT_EQ(actual[i].reason, expected[i].reason);
    EXPECT_THAT(actual[i].logprobs,
                ::testing::Pointwise(FloatNear(1e-5), expected[i].logprobs));
  }
}

void CompareRandomCases(int first, int last, bool ties) {
  int compared = 0;
  for (int seed = first; seed < last; ++seed) {
    SCOPED_TRACE("case " + std::to_string(seed));
    RandomCase random(seed, ties);
    DecodingOptions& options = random.options;
    options.beam_size = random.Int(2, 6);
    options.hypotheses = random.Int(1, options.beam_size);
    options.early_stopping = static_cast<EarlyStopping>(random.Int(0, 2));
    options.renormalize_logits = random.Int(0, 1) == 1;
    std::optional<SequenceMatcher> stop;
    if (random.Int(0, 2) == 0) {
      stop.emplace(std::vector<int32_t>{random.Token()});
    }
    const SequenceMatcher* matcher = stop ? &*stop : nullptr;
    const ReferenceResult expected =
        ReferenceBeamSearch(options, random.prefix, matcher, random.model);
    const std::vector<Hypothesis> actual =
        RunSearch(options, random.prefix, matcher, random.model);
    if (expected.placeholders) continue;
    ++compared;
    ExpectSame(actual, expected.hypotheses);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, (last - first) * 3 / 4);
}

TEST(BeamSearchTest, EqualsTransformersAlgorithmOnRandomCases) {
  CompareRandomCases(0, 4000, /*ties=*/false);
}

TEST(BeamSearchTest, EqualsTransformersAlgorithmWithTies) {
  CompareRandomCases(10000, 11000, /*ties=*/true);
}

// Searches with equal rows, so that hypotheses tie with each other, too.
std::vector<Hypothesis> SearchFixedRow(const DecodingOptions& options,
                                       const std::vector<float>& logits,
                                       const StopMatcher* stop = nullptr) {
  auto decoding = Decoding::Create(options, {0}, stop).value();
  while (!decoding->done()) {
    std::vector<std::unique_ptr<RowAnswer>> answers;
    std::vector<LogitsRow> rows;
    for (const LogitsQuery& query : decoding->queries()) {
      answers.push_back(std::make_unique<RowAnswer>(logits, query));
      rows.push_back(answers.back()->row());
    }
    decoding->Advance(rows);
  }
  return decoding->TakeResults();
}

TEST(BeamSearchTest, TiesGoToTheLowerParentThenTheLowerToken) {
  DecodingOptions options;
  options.beam_size = 3;
  options.hypotheses = 3;
  options.max_new_tokens = 2;
  const auto results = SearchFixedRow(options, {0, 0, 0, 0, 0, 0});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results[0].ids, ElementsAre(0, 0));
  EXPECT_THAT(results[1].ids, ElementsAre(0, 1));
  EXPECT_THAT(results[2].ids, ElementsAre(0, 2));
}

TEST(BeamSearchTest, AsksForAsFewTokensAsMayFollow) {
  DecodingOptions options;
  options.beam_size = 3;
  options.hypotheses = 3;
  options.max_new_tokens = 2;
  const auto decoding = Decoding::Create(options, {0}, nullptr).value();
  EXPECT_EQ(decoding->queries()[0].top_k, 6);
}

TEST(BeamSearchTest, FewerHypothesesRunWhenTheRulesLeaveFewTokens) {
  DecodingOptions options;
  options.beam_size = 4;
  options.hypotheses = 4;
  options.max_new_tokens = 3;
  options.banned_sequences = {{1}, {2}};
  options.no_repeat_ngram_size = 2;
  // Tokens 0 and 3 remain; no pair may appear twice, so 0 0 0 is impossible.
  const auto results = SearchFixedRow(options, {1, 5, 5, 0});
  ASSERT_FALSE(results.empty());
  EXPECT_LE(results.size(), 4u);
  for (const Hypothesis& result : results) {
    EXPECT_EQ(result.ids.size(), 3u);
    for (const int32_t id : result.ids) EXPECT_TRUE(id == 0 || id == 3);
    EXPECT_TRUE(std::isfinite(result.score));
  }
}

TEST(BeamSearchTest, ReturnsRunningHypothesesWhenNoTokenIsPossible) {
  DecodingOptions options;
  options.beam_size = 2;
  options.max_new_tokens = 10;
  options.no_repeat_ngram_size = 1;  // the prefix is token 0
  const auto results = SearchFixedRow(options, {0, 2, 1});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].ids, ElementsAre(1, 2));
  EXPECT_EQ(results[0].reason, FinishReason::kLength);

  options.banned_sequences = {{0}, {1}, {2}};
  const auto nothing = SearchFixedRow(options, {0, 2, 1});
  ASSERT_EQ(nothing.size(), 1u);
  EXPECT_TRUE(nothing[0].ids.empty());
  EXPECT_EQ(nothing[0].score, 0);
}

TEST(BeamSearchTest, NanLogitsAreImpossibleTokens) {
  DecodingOptions options;
  options.beam_size = 2;
  options.max_new_tokens = 2;
  options.repetition_penalty = 2;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto results = SearchFixedRow(options, {nan, nan, nan});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].ids.empty());
}

TEST(BeamSearchTest, AStopMatcherEndsAHypothesisLikeAnEndToken) {
  DecodingOptions options;
  options.beam_size = 2;
  options.hypotheses = 2;
  options.max_new_tokens = 6;
  const SequenceMatcher stop({2, 2});
  const auto results = SearchFixedRow(options, {0, 0.5f, 4}, &stop);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[0].ids, ElementsAre(2, 2));
  EXPECT_EQ(results[0].reason, FinishReason::kStop);
}

TEST(BeamSearchTest, TopLogprobsAreTheRowsBest) {
  DecodingOptions options;
  options.beam_size = 2;
  options.max_new_tokens = 2;
  options.top_logprobs = 2;
  const auto results = SearchFixedRow(options, {0, 3, 1, 2});
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].top_logprobs.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(results[0].top_logprobs[i].size(), 2u);
    EXPECT_EQ(results[0].top_logprobs[i][0].token, 1);
    EXPECT_EQ(results[0].top_logprobs[i][0].logprob, results[0].logprobs[i]);
    EXPECT_EQ(results[0].top_logprobs[i][1].token, 3);
    EXPECT_NEAR(results[0].top_logprobs[i][1].logprob,
                results[0].logprobs[i] - 1, 1e-5);
  }
}

TEST(BeamSearchTest, TokensBecomeCertainBeforeTheEnd) {
  DecodingOptions options;
  options.beam_size = 4;
  options.max_new_tokens = 20;
  ToyModel model;
  model.spread = 8;
  auto decoding = Decoding::Create(options, {0}, nullptr).value();
  std::vector<std::vector<int32_t>> live = {{0}};
  size_t certain_early = 0;
  for (int step = 0; step < 19; ++step) {
    StepSearch(decoding.get(), model, &live);
    // Exactly the tokens that all running hypotheses share (none can end here).
    size_t shared = 0;
    while (shared + 1 < live[0].size() &&
           std::all_of(live.begin(), live.end(), [&](const auto& tokens) {
             return tokens[shared + 1] == live[0][shared + 1];
           })) {
      ++shared;
    }
    EXPECT_EQ(decoding->CertainTokens(0).size(), shared);
    certain_early = shared;
  }
  EXPECT_GT(certain_early, 5u);
}

}  // namespace
}  // namespace trivium
