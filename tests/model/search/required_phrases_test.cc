#include "model/search/required_phrases.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "tests/model/search/toy_model.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

constexpr int32_t kToyEnd = 1;

// Tokens from 10 on continue words; those from 15 on are endings.
class ToyPieces : public WordPieces {
 public:
  bool ContinuesWord(int32_t token) const override { return token >= 10; }
  bool IsEnding(int32_t token) const override { return token >= 15; }
};

bool Has(const std::vector<int32_t>& ids, const std::vector<int32_t>& form) {
  return std::search(ids.begin(), ids.end(), form.begin(), form.end()) !=
         ids.end();
}

DecodingOptions Options(int beam_size,
                        const std::vector<std::vector<int32_t>>& forms) {
  DecodingOptions options;
  options.beam_size = beam_size;
  options.hypotheses = 1;
  options.end_ids = {kToyEnd};
  options.max_new_tokens = 24;
  for (const std::vector<int32_t>& form : forms) {
    options.required.push_back(
        {.forms = {form}, .first_forms = {}, .source = {}});
  }
  return options;
}

double LogProbability(const ToyModel& model, std::vector<int32_t> history,
                      const std::vector<int32_t>& ids) {
  double sum = 0;
  for (const int32_t id : ids) {
    const std::vector<float> logits = model.Logits(history);
    double all = 0;
    for (const float logit : logits) all += std::exp(1.0 * logit);
    sum += logits[id] - std::log(all);
    history.push_back(id);
  }
  return sum;
}

TEST(RequiredPhrasesTest, EveryHypothesisContainsThem) {
  for (int seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto any = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    // In a large vocabulary phrases are not among the best tokens.
    const bool large = any(0, 3) == 0;
    ToyModel model{.vocabulary = large ? 150 : 20,
                   .seed = static_cast<uint64_t>(seed),
                   .spread = 1.0f * any(1, large ? 3 : 8),
                   .favoured = kToyEnd,
                   .favour = 1.0f * any(0, 6)};
    std::vector<std::vector<int32_t>> forms(any(1, 4));
    int tokens = 0;
    for (std::vector<int32_t>& form : forms) {
      form.resize(any(1, 4));
      for (int32_t& token : form) token = any(2, model.vocabulary - 1);
      tokens += static_cast<int>(form.size());
    }
    DecodingOptions options = Options(any(1, 9), forms);
    options.hypotheses = any(1, options.beam_size);
    options.renormalize_logits = any(0, 1) == 1;
    options.no_repeat_ngram_size = any(0, 2);
    options.max_new_tokens = tokens + any(1, 12);
    const std::vector<Hypothesis> results =
        RunSearch(options, {0}, nullptr, model);
    ASSERT_FALSE(results.empty());
    for (const Hypothesis& result : results) {
      for (const std::vector<int32_t>& form : forms) {
        EXPECT_TRUE(Has(result.ids, form));
      }
    }
    if (options.no_repeat_ngram_size == 0) {
      EXPECT_NEAR(results[0].log_probability,
                  LogProbability(model, {0}, results[0].ids), 1e-3);
    }
  }
}

TEST(RequiredPhrasesTest, EqualPhrasesAppearAsOftenAsRequired) {
  const ToyModel model{.favoured = kToyEnd, .favour = 3};
  const std::vector<Hypothesis> results =
      RunSearch(Options(6, {{7}, {7}, {7}}), {0}, nullptr, model);
  EXPECT_GE(std::count(results[0].ids.begin(), results[0].ids.end(), 7), 3);
}

// A model in which each token of 2 .. 6 is followed by the next, then the end.
ToyModel Counting() {
  ToyModel model;
  model.table.assign(model.vocabulary,
                     std::vector<float>(model.vocabulary, 0.0f));
  for (int32_t token = 2; token < 7; ++token) {
    model.table[token == 2 ? 0 : token - 1][token] = 8;
  }
  model.table[6][kToyEnd] = 8;
  return model;
}

TEST(RequiredPhrasesTest, PhrasesThatTheModelWritesAnywayChangeNothing) {
  for (const std::vector<int32_t>& form :
       {std::vector<int32_t>{2}, {4, 5}, {6}, {2, 3, 4, 5, 6}}) {
    const std::vector<Hypothesis> results =
        RunSearch(Options(4, {form}), {0}, nullptr, Counting());
    EXPECT_THAT(results[0].ids, ElementsAre(2, 3, 4, 5, 6, kToyEnd));
  }
}

TEST(RequiredPhrasesTest, TheModelDecidesWhereTheyStand) {
  ToyModel model = Counting();
  // 9 is the best replacement of 4 if it must appear.
  model.table[3][9] = 4;
  model.table[9][5] = 8;
  EXPECT_THAT(RunSearch(Options(3, {{9}}), {0}, nullptr, model)[0].ids,
              ElementsAre(2, 3, 9, 5, 6, kToyEnd));
  EXPECT_THAT(RunSearch(Options(5, {{9}, {6}}), {0}, nullptr, model)[0].ids,
              ElementsAre(2, 3, 9, 5, 6, kToyEnd));
}

TEST(RequiredPhrasesTest, TheyStandWhereTheDecoderAttendsToTheirSource) {
  // 9 is equally unlikely everywhere, and every token may follow it.
  const ToyModel model = Counting();
  for (int place = 0; place < 5; ++place) {
    DecodingOptions options = Options(4, {{9}});
    options.required[0].source = {place};
    auto decoding = Decoding::Create(options, {0}, nullptr).value();
    ASSERT_TRUE(decoding->attends());
    for (int step = 0; !decoding->done(); ++step) {
      std::vector<std::unique_ptr<RowAnswer>> answers;
      std::vector<LogitsRow> rows;
      // Maps of six tokens from two heads; at each step one of the heads
      // attends to the step's token.
      std::vector<float> looks(12, 0.01f);
      looks[step % 2 * 6 + std::min(step, 5)] = 0.95f;
      std::vector<std::span<const float>> maps;
      for (size_t i = 0; i < decoding->queries().size(); ++i) {
        const std::span<const int32_t> history =
            step == 0 ? std::span<const int32_t>(options.end_ids).first(0)
                      : decoding->LiveTokens(i);
        answers.push_back(std::make_unique<RowAnswer>(
            step == 0 ? model.table[0] : model.Logits(history),
            decoding->queries()[i]));
        rows.push_back(answers.back()->row());
        maps.push_back(looks);
      }
      decoding->SetAttention(maps, 6);
      decoding->Advance(rows);
    }
    EXPECT_EQ(decoding->TakeResults()[0].ids[place], 9);
  }
}

// A hypothesis with the phrase ends however many without it are more probable.
TEST(RequiredPhrasesTest, HypothesesEndAmongThoseWithAsManyPhrases) {
  ToyModel model = Counting();
  model.table[3] = model.table[0];  // 2 3 2 3 2 3 ...
  model.table[9][kToyEnd] = 8;
  DecodingOptions options = Options(2, {{9}});
  options.length_penalty = 0;
  EXPECT_THAT(RunSearch(options, {0}, nullptr, model)[0].ids,
              ElementsAre(9, kToyEnd));
}

TEST(RequiredPhrasesTest, NoTokenContinuesTheirLastWord) {
  ToyModel model = Counting();
  // The model would continue the word: 3 12 rather than 3 4.
  model.table[3][12] = 12;
  model.table[12][5] = 12;
  DecodingOptions options = Options(4, {{3}});
  options.word_pieces = std::make_shared<ToyPieces>();
  EXPECT_THAT(RunSearch(options, {0}, nullptr, model)[0].ids,
              ElementsAre(2, 3, 4, 5, 6, kToyEnd));
  options.required[0].whole = false;
  EXPECT_THAT(RunSearch(options, {0}, nullptr, model)[0].ids,
              ElementsAre(2, 3, 12, 5, 6, kToyEnd));
}

TEST(RequiredPhrasesTest, ManyBetterTokensMayBeForbiddenAfterThem) {
  ToyModel model = Counting();
  for (int32_t token = 10; token < 20; ++token) model.table[3][token] = 12;
  DecodingOptions options = Options(2, {{3}});
  options.word_pieces = std::make_shared<ToyPieces>();
  EXPECT_THAT(RunSearch(options, {0}, nullptr, model)[0].ids,
              ElementsAre(2, 3, 4, 5, 6, kToyEnd));
}

TEST(RequiredPhrasesTest, AnEndingMayFollowIfAllowed) {
  ToyModel model = Counting();
  model.table[3][16] = 12;
  model.table[16][12] = 12;
  model.table[16][5] = 11;
  DecodingOptions options = Options(4, {{3}});
  options.word_pieces = std::make_shared<ToyPieces>();
  options.required[0].endings = true;
  // 16 is an ending, and 12 would follow it.
  EXPECT_THAT(RunSearch(options, {0}, nullptr, model)[0].ids,
              ElementsAre(2, 3, 16, 5, 6, kToyEnd));
}

TEST(RequiredPhrasesTest, FirstFormsOnlyBeginTexts) {
  ToyModel model = Counting();
  DecodingOptions options = Options(4, {{9}});
  options.required[0].first_forms = {{8}};
  model.table[0][8] = 7;
  model.table[8][3] = 8;
  EXPECT_THAT(RunSearch(options, {0}, nullptr, model)[0].ids,
              ElementsAre(8, 3, 4, 5, 6, kToyEnd));
  // Also after a forced token.
  model.table[10] = model.table[0];
  options.forced_first_id = 10;
  EXPECT_THAT(RunSearch(options, {0}, nullptr, model)[0].ids,
              ElementsAre(10, 8, 3, 4, 5, 6, kToyEnd));
}

TEST(RequiredPhrasesTest, WithoutRoomReturnsTheBestWithoutThem) {
  DecodingOptions options = Options(4, {{7, 8, 9}});
  options.max_new_tokens = 2;
  const std::vector<Hypothesis> results =
      RunSearch(options, {0}, nullptr, Counting());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].ids.size(), 2u);
  EXPECT_EQ(results[0].reason, FinishReason::kLength);
}

TEST(RequiredPhrasesTest, StopStringsEndTheSearchWithoutThem) {
  const SequenceMatcher stop({2});
  const std::vector<Hypothesis> results =
      RunSearch(Options(2, {{9}}), {0}, &stop, Counting());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].reason == FinishReason::kStop ||
              Has(results[0].ids, {9}));
}

TEST(RequiredPhrasesTest, IfAllEndWithoutThemTheBestIsTheResult) {
  const SequenceMatcher stop({});  // stops after any token
  const std::vector<Hypothesis> results =
      RunSearch(Options(4, {{9}, {8}}), {0}, &stop, Counting());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].ids, ElementsAre(2));
  EXPECT_EQ(results[0].reason, FinishReason::kStop);
}

TEST(RequiredPhrasesTest, ForbiddenTokensOfPhrasesAreWritten) {
  DecodingOptions options = Options(4, {{9}});
  options.banned_sequences = {{9}};
  options.suppressed_ids = {9};
  EXPECT_TRUE(Has(RunSearch(options, {0}, nullptr, Counting())[0].ids, {9}));
}

TEST(RequiredPhrasesTest, RefusesBadOptions) {
  DecodingOptions options = Options(2, {{}});
  EXPECT_FALSE(ValidateDecodingOptions(options).ok());
  options = Options(2, {{5}});
  EXPECT_TRUE(ValidateDecodingOptions(options, 6).ok());
  EXPECT_FALSE(ValidateDecodingOptions(options, 5).ok());
  options.required[0].forms.clear();
  EXPECT_FALSE(ValidateDecodingOptions(options).ok());
  options = Options(1, {{5}});
  options.sample = true;
  EXPECT_FALSE(ValidateDecodingOptions(options).ok());
  options = Options(2, std::vector<std::vector<int32_t>>(13, {5}));
  EXPECT_FALSE(ValidateDecodingOptions(options).ok());
}

TEST(AllotByRankTest, GivesTwoToEachRankAndTheRestToTheLast) {
  EXPECT_THAT(AllotByRank({9, 9}, 6), ElementsAre(2, 4));
  EXPECT_THAT(AllotByRank({9, 9, 9}, 8), ElementsAre(2, 2, 4));
  EXPECT_THAT(AllotByRank({9, 9, 9}, 4), ElementsAre(1, 1, 2));
  EXPECT_THAT(AllotByRank({9, 0, 0}, 4), ElementsAre(4, 0, 0));
  EXPECT_THAT(AllotByRank({9, 1, 0}, 4), ElementsAre(3, 1, 0));
  EXPECT_THAT(AllotByRank({1, 0, 2}, 9), ElementsAre(1, 0, 2));
  EXPECT_THAT(AllotByRank({9, 9, 9}, 1), ElementsAre(0, 0, 1));
  EXPECT_THAT(AllotByRank({9, 9, 9}, 2), ElementsAre(0, 1, 1));
}

}  // namespace
}  // namespace trivium
