// The engine with a vocabulary shortlist, compared with itself without one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/transformer/shortlist.h"
#include "model/transformer/transformer.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kVocabulary = 2500;  // more than two blocks of the projection
constexpr int kLayers = 2;

class ShortlistEngineTest : public testing::TestWithParam<Formats> {
 protected:
  // d_model is not a multiple of a vector.
  ShortlistEngineTest()
      : random_({.d_model = 40,
                 .heads = 2,
                 .encoder_layers = kLayers,
                 .vocabulary = kVocabulary},
                11) {}

  std::unique_ptr<Engine> NewEngine(
      std::shared_ptr<const Shortlist> shortlist) const {
    TransformerDescription description = random_.description();
    description.shortlist = std::move(shortlist);
    return trivium::NewEngine(description, GetParam(), 16 << 20);
  }

  // Source token s allows `each` tokens, including s itself.
  static std::shared_ptr<const Shortlist> NewShortlist(int each, int most) {
    Shortlist::Table table;
    table.always = {0, 7};
    table.offsets = {0};
    std::mt19937 generator(5);
    for (int s = 0; s < kVocabulary; ++s) {
      std::vector<int32_t> targets = {s};
      for (int i = 1; i < each; ++i) {
        targets.push_back(static_cast<int32_t>(generator() % kVocabulary));
      }
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      table.targets.insert(table.targets.end(), targets.begin(), targets.end());
      table.offsets.push_back(static_cast<int32_t>(table.targets.size()));
    }
    auto shortlist =
        Shortlist::Create(table, {}, kVocabulary, kVocabulary, most);
    EXPECT_TRUE(shortlist.ok()) << shortlist.status();
    return *std::move(shortlist);
  }
  static std::shared_ptr<const Shortlist> Everything() {
    Shortlist::Table table;
    table.offsets.assign(kVocabulary + 1, 0);
    table.always.resize(kVocabulary);
    std::iota(table.always.begin(), table.always.end(), 0);
    return *Shortlist::Create(table, {}, kVocabulary, kVocabulary, kVocabulary);
  }

  const RandomTransformer random_;
};

std::vector<int32_t> RandomTokens(int count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(generator() % kVocabulary);
  return ids;
}

// A copy of a step's answers.
struct Answer {
  std::vector<Candidate> best;
  float rest;
  std::vector<float> watched, all;

  explicit Answer(const LogitsRow& row)
      : best(row.best.begin(), row.best.end()),
        rest(row.rest_log_sum_exp),
        watched(row.watched.begin(), row.watched.end()),
        all(row.all.begin(), row.all.end()) {}

  friend bool operator==(const Answer& a, const Answer& b) {
    return a.rest == b.rest && a.watched == b.watched && a.all == b.all &&
           std::equal(a.best.begin(), a.best.end(), b.best.begin(),
                      b.best.end(), [](const auto& x, const auto& y) {
                        return x.token == y.token && x.logit == y.logit;
                      });
  }
};

// Runs one step of `beams` hypotheses of a new source, which read different
// tokens.
std::vector<Answer> Ask(Engine* engine, const std::vector<int32_t>& source,
                        int beams, const LogitsQuery& query) {
  const SourceId id = engine->AddSource({source, {}}, {}).value();
  StepPlan plan;
  plan.encode.push_back({id, kLayers});
  const std::vector<int32_t> tokens = RandomTokens(beams, 77);
  std::vector<HypothesisId> hypotheses;
  for (int i = 0; i < beams; ++i) {
    hypotheses.push_back(engine->AddHypothesis(id));
    plan.decode.push_back({.hypothesis = hypotheses.back(),
                           .tokens = std::span(tokens).subspan(i, 1),
                           .queries = {&query, 1}});
  }
  StepResult result;
  EXPECT_TRUE(engine->Step(plan, &result).ok());
  std::vector<Answer> answers;
  for (const StepResult::Row& row : result.rows) {
    answers.emplace_back(row.logits[0]);
  }
  for (const HypothesisId hypothesis : hypotheses) {
    engine->ReleaseHypothesis(hypothesis);
  }
  engine->ReleaseSource(id);
  return answers;
}

TEST_P(ShortlistEngineTest, AnswersEqualTheFullOnesWithinTheList) {
  const auto shortlist = NewShortlist(60, kVocabulary);
  const auto full = NewEngine(nullptr);
  const auto listed = NewEngine(shortlist);
  for (const int tokens : {1, 2, 9, 33}) {
    const std::vector<int32_t> source = RandomTokens(tokens, tokens);
    const std::vector<int32_t> allowed = shortlist->TokensOf(source);
    ASSERT_FALSE(allowed.empty());
    // Tokens inside and outside the list, including the first and the last.
    std::vector<int32_t> watched = {
        0, 1, 2, allowed[3], allowed.back(), kVocabulary - 1};
    std::sort(watched.begin(), watched.end());
    watched.erase(std::unique(watched.begin(), watched.end()), watched.end());
    const LogitsQuery query = {.top_k = 9, .watched = watched, .all = true};
    for (const int beams : {1, 2, 5, 16, 19}) {
      const std::vector<Answer> expected =
          Ask(full.get(), source, beams, query);
      const std::vector<Answer> answers =
          Ask(listed.get(), source, beams, query);
      ASSERT_EQ(answers.size(), expected.size());
      for (int beam = 0; beam < beams; ++beam) {
        const std::vector<float>& all = expected[beam].all;
        const auto in = [&](int32_t token) {
          return std::binary_search(allowed.begin(), allowed.end(), token);
        };
        // f32 products of other kernels differ in their last bits.
        const float most = GetParam() == kInt8Formats ? 0.0f : 1e-4f;
        double sum = 0;
        std::vector<Candidate> best;
        for (int token = 0; token < kVocabulary; ++token) {
          const float logit = answers[beam].all[token];
          if (!in(token)) {
            ASSERT_EQ(logit, -kInfinity);
            continue;
          }
          ASSERT_NEAR(logit, all[token], most);
          if (std::binary_search(watched.begin(), watched.end(), token)) {
            continue;
          }
          sum += std::exp(static_cast<double>(logit));
          best.push_back({token, logit});
        }
        for (size_t i = 0; i < watched.size(); ++i) {
          ASSERT_EQ(answers[beam].watched[i], answers[beam].all[watched[i]]);
        }
        std::stable_sort(best.begin(), best.end(),
                         [](auto a, auto b) { return a.logit > b.logit; });
        best.resize(std::min<size_t>(best.size(), 9));
        ASSERT_EQ(answers[beam].best.size(), best.size());
        for (size_t i = 0; i < best.size(); ++i) {
          EXPECT_EQ(answers[beam].best[i].token, best[i].token);
          EXPECT_EQ(answers[beam].best[i].logit, best[i].logit);
        }
        EXPECT_NEAR(answers[beam].rest, std::log(sum), 1e-4);
      }
    }
  }
}

TEST_P(ShortlistEngineTest, AListOfAllTokensChangesNothing) {
  const auto full = NewEngine(nullptr);
  const auto listed = NewEngine(Everything());
  const std::vector<int32_t> watched = {3, 1023, 1024, 2499};
  for (const int tokens : {1, 12}) {
    const std::vector<int32_t> source = RandomTokens(tokens, tokens);
    const LogitsQuery query = {.top_k = 20, .watched = watched, .all = true};
    const auto expected = Ask(full.get(), source, 3, query);
    const auto answers = Ask(listed.get(), source, 3, query);
    if (GetParam() == kInt8Formats) {
      EXPECT_TRUE(answers == expected) << "bits";
    }
    for (const int beams : {1, 4}) {
      DecodingOptions options;
      options.beam_size = options.hypotheses = beams;
      options.max_new_tokens = 12;
      options.end_ids = {0};
      options.no_repeat_ngram_size = 2;
      const auto before = GenerateAlone(full.get(), {source, {}}, {1}, options);
      const auto after =
          GenerateAlone(listed.get(), {source, {}}, {1}, options);
      ASSERT_TRUE(before.ok() && after.ok());
      ASSERT_EQ(before->size(), after->size());
      for (size_t i = 0; i < before->size(); ++i) {
        EXPECT_EQ((*after)[i].ids, (*before)[i].ids);
        if (GetParam() == kInt8Formats) {
          EXPECT_EQ((*after)[i].score, (*before)[i].score);
          EXPECT_EQ((*after)[i].logprobs, (*before)[i].logprobs);
        } else {
          EXPECT_NEAR((*after)[i].score, (*before)[i].score, 1e-3);
        }
      }
    }
  }
}

TEST_P(ShortlistEngineTest, TranslationsStayInTheListExceptForForcedTokens) {
  const auto shortlist = NewShortlist(20, kVocabulary);
  const auto engine = NewEngine(shortlist);
  const std::vector<int32_t> source = RandomTokens(10, 3);
  const std::vector<int32_t> allowed = shortlist->TokensOf(source);
  const auto in = [&](int32_t token) {
    return std::binary_search(allowed.begin(), allowed.end(), token);
  };
  int32_t outside = 1;
  while (in(outside)) ++outside;
  for (const int beams : {1, 4}) {
    for (const bool sample : {false, true}) {
      if (sample && beams > 1) continue;
      DecodingOptions options;
      options.beam_size = beams;
      options.sample = sample;
      options.top_k = 0;  // sample from the whole row
      options.max_new_tokens = 9;
      options.min_new_tokens = 9;
      options.end_ids = {0};
      options.forced_first_id = outside;
      options.forced_last_id = outside;
      options.repetition_penalty = 1.3f;
      // A target prefix of any tokens.
      const auto results = GenerateAlone(engine.get(), {source, {}},
                                         {1, outside, outside}, options);
      ASSERT_TRUE(results.ok()) << results.status();
      const std::vector<int32_t>& ids = results->at(0).ids;
      ASSERT_EQ(ids.size(), 9u);
      EXPECT_EQ(ids.front(), outside);
      EXPECT_EQ(ids.back(), outside);
      for (size_t i = 1; i + 1 < ids.size(); ++i) EXPECT_TRUE(in(ids[i]));
      EXPECT_TRUE(std::isfinite(results->at(0).score));
    }
  }
}

// Fewer tokens than a beam search requests, and none but watched ones.
TEST_P(ShortlistEngineTest, HandlesListsOfFewTokens) {
  Shortlist::Table table;
  table.offsets.assign(kVocabulary + 1, 0);
  table.always = {0, 7};
  const auto engine = NewEngine(
      *Shortlist::Create(table, {}, kVocabulary, kVocabulary, kVocabulary));
  DecodingOptions options;
  options.beam_size = options.hypotheses = 8;
  options.max_new_tokens = 5;
  options.end_ids = {0};
  const auto results = GenerateAlone(engine.get(), {{5, 6}, {}}, {1}, options);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_FALSE(results->empty());
  for (const Hypothesis& hypothesis : *results) {
    for (const int32_t id : hypothesis.ids) EXPECT_TRUE(id == 0 || id == 7);
  }
  const std::vector<int32_t> both = {0, 7};
  const Answer answer =
      Ask(engine.get(), {5, 6}, 1, {.top_k = 3, .watched = both}).at(0);
  EXPECT_TRUE(answer.best.empty());
  EXPECT_EQ(answer.rest, -kInfinity);
  EXPECT_TRUE(std::isfinite(answer.watched[0]));
}

// Sources with lists and without (if too long), with one hypothesis or several,
// all in one step, compared with each alone.
TEST_P(ShortlistEngineTest, RowsDoNotSeeEachOther) {
  const auto shortlist = NewShortlist(60, 400);
  const auto engine = NewEngine(shortlist);
  const std::vector<int32_t> watched = {7, 30};
  const LogitsQuery query = {.top_k = 5, .watched = watched, .all = true};
  constexpr int kSources = 24;
  StepPlan plan;
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::pair<int, int>> rows;  // source and beam of a row
  const std::vector<int32_t> tokens =
      RandomTokens(5, 77);  // the same as in Ask
  int restricted = 0;
  for (int i = 0; i < kSources; ++i) {
    sources.push_back(RandomTokens(1 + i, 100 + i));
    restricted += !shortlist->TokensOf(sources[i]).empty();
    const SourceId id = engine->AddSource({sources[i], {}}, {}).value();
    plan.encode.push_back({id, kLayers});
    for (int beam = 0; beam < 1 + i % 5; ++beam) {
      plan.decode.push_back({.hypothesis = engine->AddHypothesis(id),
                             .tokens = std::span(tokens).subspan(beam, 1),
                             .queries = {&query, 1}});
      rows.push_back({i, beam});
    }
  }
  EXPECT_GT(restricted, 3);
  EXPECT_LT(restricted, kSources - 3);
  // Hypotheses of a source need not be adjacent.
  std::mt19937 generator(9);
  for (size_t i = plan.decode.size(); i > plan.decode.size() / 2; --i) {
    const size_t other = generator() % i;
    std::swap(plan.decode[i - 1], plan.decode[other]);
    std::swap(rows[i - 1], rows[other]);
  }
  StepResult result;
  ASSERT_TRUE(engine->Step(plan, &result).ok());
  std::vector<Answer> together;
  for (const StepResult::Row& row : result.rows) {
    together.emplace_back(row.logits[0]);
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto [source, beam] = rows[row];
    const auto alone = Ask(engine.get(), sources[source], beam + 1, query);
    EXPECT_TRUE(alone.back() == together[row])
        << "source " << source << " beam " << beam;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ShortlistEngineTest,
                         testing::Values(kF32Formats, kInt8Formats));

}  // namespace
}  // namespace trivium
