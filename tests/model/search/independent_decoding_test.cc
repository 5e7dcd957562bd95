#include <algorithm>
#include <cmath>
#include <map>
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

void CompareRandomCases(bool sample, int cases) {
  int skipped = 0;
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("case " + std::to_string(seed));
    RandomCase random(seed, /*ties=*/seed % 2 == 1);
    DecodingOptions& options = random.options;
    options.sample = sample;
    if (sample) {
      options.hypotheses = random.Int(1, 4);
      options.seed = seed * 77;
      const int top_ks[] = {0, 1, 3, 50, 2000};
      options.top_k = top_ks[random.Int(0, 4)];
      const float top_ps[] = {1.0f, 0.9f, 0.5f, 0.01f};
      options.top_p = top_ps[random.Int(0, 3)];
      const float min_ps[] = {0.0f, 0.0f, 0.1f, 0.5f};
      options.min_p = min_ps[random.Int(0, 3)];
      const float typical_ps[] = {1.0f, 1.0f, 0.8f, 0.2f};
      options.typical_p = typical_ps[random.Int(0, 3)];
      const float temperatures[] = {1.0f, 0.5f, 3.0f};
      options.temperature = temperatures[random.Int(0, 2)];
    }
    std::optional<SequenceMatcher> stop;
    if (random.Int(0, 2) == 0) {
      stop.emplace(std::vector<int32_t>{random.Token()});
    }
    // The reference does not support a row without a possible token.
    if (options.no_repeat_ngram_size == 1 &&
        random.model.vocabulary < options.max_new_tokens + 10) {
      ++skipped;
      continue;
    }
    const SequenceMatcher* matcher = stop ? &*stop : nullptr;
    const auto expected =
        ReferenceSample(options, random.prefix, matcher, random.model)
            .hypotheses;
    const auto actual =
        RunSearch(options, random.prefix, matcher, random.model);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].ids, expected[i].ids);
      EXPECT_EQ(actual[i].reason, expected[i].reason);
      EXPECT_NEAR(actual[i].score, expected[i].score,
                  1e-5 * std::max(1.0f, std::abs(expected[i].score)));
      EXPECT_NEAR(actual[i].log_probability, expected[i].log_probability, 1e-4);
      EXPECT_THAT(actual[i].logprobs,
                  ::testing::Pointwise(::testing::FloatNear(1e-5),
                                       expected[i].logprobs));
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_LT(skipped, cases / 4);
}

TEST(GreedyTest, EqualsTheReferenceOnRandomCases) {
  CompareRandomCases(/*sample=*/false, 3000);
}

TEST(SamplingTest, EqualsTheReferenceOnRandomCases) {
  CompareRandomCases(/*sample=*/true, 3000);
}

bool SameQuery(const LogitsQuery& a, const LogitsQuery& b) {
  return a.top_k == b.top_k && a.all == b.all &&
         std::equal(a.watched.begin(), a.watched.end(), b.watched.begin(),
                    b.watched.end());
}

// The queries of a draft are those of the search after it has chosen the
// draft's tokens, and asking for them changes nothing.
TEST(DraftTest, QueriesEqualThoseOfASearchThatChoseTheDraft) {
  int compared = 0;
  for (int seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase random(seed);
    DecodingOptions& options = random.options;
    options.sample = seed % 2 == 1;
    options.top_k = random.Int(0, 5);
    options.seed = seed;
    const auto plain =
        Decoding::Create(options, random.prefix, nullptr).value();
    const auto drafted =
        Decoding::Create(options, random.prefix, nullptr).value();
    // First the search's own choice, then something else.
    const std::vector<Hypothesis> expected =
        RunSearch(options, random.prefix, nullptr, random.model);
    std::vector<int32_t> draft = expected[0].ids;
    draft.push_back(random.Token());
    std::vector<int32_t> history = random.prefix;
    for (size_t step = 0; !plain->done(); ++step) {
      // The queries after the following tokens, copied.
      const auto later =
          drafted->DraftQueries(std::span<const int32_t>(draft).subspan(step));
      ASSERT_EQ(later.size(), draft.size() - step);
      const RowAnswer answer(random.model.Logits(history),
                             drafted->queries()[0]);
      ASSERT_TRUE(SameQuery(plain->queries()[0], drafted->queries()[0]));
      plain->Advance({&answer.row(), 1});
      if (!plain->done()) {
        ASSERT_TRUE(SameQuery(later[0], plain->queries()[0]));
        ++compared;
      }
      drafted->Advance({&answer.row(), 1});
      history.push_back(draft[step]);
    }
    ASSERT_TRUE(drafted->done());
    const Hypothesis result = drafted->TakeResults()[0];
    EXPECT_EQ(result.ids, expected[0].ids);
    EXPECT_EQ(result.score, expected[0].score);
  }
  EXPECT_GT(compared, 3000);
}

TEST(DraftTest, OnlyASingleHypothesisHasADraft) {
  const std::vector<int32_t> draft = {1, 2};
  for (const bool sample : {false, true}) {
    DecodingOptions options;
    options.sample = sample;
    options.beam_size = sample ? 1 : 2;
    options.hypotheses = 2;
    const auto decoding = Decoding::Create(options, {3}, nullptr).value();
    EXPECT_TRUE(decoding->DraftQueries(draft).empty());
  }
}

TEST(GreedyTest, TiesGoToTheLowerToken) {
  ToyModel model{.vocabulary = 5, .spread = 0.1f, .quantum = 1};
  DecodingOptions options;
  options.max_new_tokens = 3;
  EXPECT_THAT(RunSearch(options, {4}, nullptr, model)[0].ids,
              ElementsAre(0, 0, 0));
}

TEST(GreedyTest, ATextThatOnlyRepeatsItselfEndsIfAsked) {
  // 0, 1, 2, 0, 1, 2, ...
  const ToyModel model{.vocabulary = 3,
                       .table = {{0, 9, 0}, {0, 0, 9}, {9, 0, 0}}};
  DecodingOptions options;
  options.max_new_tokens = 200;
  EXPECT_EQ(RunSearch(options, {2}, nullptr, model)[0].ids.size(), 200u);
  options.stop_repetition = true;
  const Hypothesis ended = RunSearch(options, {2}, nullptr, model)[0];
  EXPECT_EQ(ended.ids.size(), 128u);
  EXPECT_EQ(ended.reason, FinishReason::kRepetition);
  EXPECT_EQ(ended.logprobs.size(), 128u);
  options.beam_size = 2;
  EXPECT_FALSE(ValidateDecodingOptions(options).ok());
}

TEST(GreedyTest, EndsWhereNoTokenIsPossible) {
  ToyModel model{.vocabulary = 3};
  DecodingOptions options;
  options.max_new_tokens = 9;
  options.no_repeat_ngram_size = 1;
  const auto results = RunSearch(options, {0}, nullptr, model);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].ids.size(), 2u);
  EXPECT_EQ(results[0].reason, FinishReason::kLength);
}

TEST(GreedyTest, TopLogprobsIncludeTheEdits) {
  ToyModel model{.vocabulary = 6};
  DecodingOptions options;
  options.max_new_tokens = 1;
  options.top_logprobs = 20;
  options.banned_sequences = {{2}};
  const auto results = RunSearch(options, {1}, nullptr, model);
  ASSERT_EQ(results[0].top_logprobs.size(), 1u);
  const auto& top = results[0].top_logprobs[0];
  ASSERT_EQ(top.size(), 5u);  // all except the banned one
  double sum = 0;
  for (size_t i = 0; i < top.size(); ++i) {
    EXPECT_NE(top[i].token, 2);
    if (i > 0) {
      EXPECT_GE(top[i - 1].logprob, top[i].logprob);
    }
    sum += std::exp(top[i].logprob);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(top[0].token, results[0].ids[0]);
}

// Compares frequencies of the first token over many seeds with the softmax.
TEST(SamplingTest, DrawsFromTheDistribution) {
  ToyModel model{.vocabulary = 8, .spread = 2};
  for (const int top_k : {0, 4}) {
    DecodingOptions options;
    options.sample = true;
    options.max_new_tokens = 1;
    options.temperature = 0.8f;
    options.top_k = top_k;
    options.hypotheses = 4;
    std::map<int32_t, int> counts;
    constexpr int kSeeds = 5000;
    for (int seed = 0; seed < kSeeds; ++seed) {
      options.seed = seed;
      for (const Hypothesis& draw : RunSearch(options, {0}, nullptr, model)) {
        ++counts[draw.ids[0]];
      }
    }
    const std::vector<int32_t> prefix = {0};
    std::vector<float> logits = model.Logits(prefix);
    std::vector<float> sorted = logits;
    std::sort(sorted.rbegin(), sorted.rend());
    double sum = 0;
    for (float& logit : logits) {
      if (top_k > 0 && logit < sorted[top_k - 1]) logit = -1000;
      sum += std::exp(logit / 0.8);
    }
    constexpr double kDraws = 4.0 * kSeeds;
    for (int32_t token = 0; token < 8; ++token) {
      const double p = std::exp(logits[token] / 0.8) / sum;
      const double sigma = std::sqrt(p * (1 - p) / kDraws);
      EXPECT_NEAR(counts[token] / kDraws, p, 5 * sigma + 1e-9)
          << "top_k " << top_k << " token " << token;
    }
  }
}

TEST(SamplingTest, ADrawDoesNotDependOnTheOthers) {
  ToyModel model{.vocabulary = 30, .favoured = 3, .favour = 3};
  DecodingOptions options;
  options.sample = true;
  options.seed = 9;
  options.end_ids = {3};
  options.hypotheses = 8;
  const auto many = RunSearch(options, {1}, nullptr, model);
  options.hypotheses = 3;
  const auto few = RunSearch(options, {1}, nullptr, model);
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].ids, many[i].ids);
    EXPECT_EQ(few[i].score, many[i].score);
  }
  EXPECT_NE(many[0].ids, many[1].ids);
}

TEST(SamplingTest, ATinyTemperatureIsGreedy) {
  ToyModel model{.vocabulary = 30};
  DecodingOptions greedy;
  DecodingOptions options;
  options.sample = true;
  options.temperature = 1e-40f;
  EXPECT_EQ(RunSearch(options, {1}, nullptr, model)[0].ids,
            RunSearch(greedy, {1}, nullptr, model)[0].ids);
}

}  // namespace
}  // namespace trivium
