// Rows of many tokens of which a constraint allows few.
#include "model/search/row_scores.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/model/search/toy_model.h"

namespace trivium {
namespace {

constexpr int kRowTokens = 300;

// Random rows, edits and masks, and what each function should find by its
// definition.
class RowScoresTest : public testing::TestWithParam<int> {
 protected:
  RowScoresTest() : random_(GetParam()), allowed_(kRowTokens) {
    std::uniform_real_distribution<float> logit(-4, 4);
    for (int token = 0; token < kRowTokens; ++token) {
      // Some tokens are equally good.
      all_.push_back(std::round(8 * logit(random_)) / 8);
      if (Chance(30)) allowed_.Set(token);
      if (!Chance(10)) continue;
      edits_.watched.push_back(token);
      edits_.changes.push_back({.banned = Chance(3), .bias = logit(random_)});
    }
    query_.watched = edits_.watched;
    query_.top_k = 4;
    query_.all = true;
  }

  bool Chance(int one_in) {
    return std::uniform_int_distribution<int>(1, one_in)(random_) == 1;
  }
  // The allowed tokens by these log-probabilities, best first.
  std::vector<ScoredToken> Best(const std::vector<double>& logprobs) const {
    std::vector<ScoredToken> best;
    for (int token = 0; token < kRowTokens; ++token) {
      if (!allowed_.Has(token) || std::isinf(logprobs[token])) continue;
      best.push_back({token, logprobs[token]});
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const ScoredToken& a, const ScoredToken& b) {
                       return a.logprob > b.logprob;
                     });
    return best;
  }
  std::vector<double> Edited(std::vector<double> values) const {
    for (size_t i = 0; i < edits_.watched.size(); ++i) {
      double& value = values[edits_.watched[i]];
      value =
          edits_.changes[i].banned ? -INFINITY : value + edits_.changes[i].bias;
    }
    return values;
  }
  static std::vector<double> LogSoftmax(std::vector<double> values) {
    double sum = 0;
    for (const double value : values) sum += std::exp(value);
    for (double& value : values) value -= std::log(sum);
    return values;
  }
  static void ExpectFirst(const std::vector<ScoredToken>& tokens,
                          const std::vector<ScoredToken>& expected,
                          size_t count) {
    ASSERT_EQ(tokens.size(), std::min(count, expected.size()));
    for (size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(tokens[i].token, expected[i].token) << i;
      EXPECT_NEAR(tokens[i].logprob, expected[i].logprob, 1e-5);
    }
  }

  std::mt19937 random_;
  std::vector<float> all_;
  TokenMask allowed_;
  LogitsEdits edits_;
  LogitsQuery query_;
};

TEST_P(RowScoresTest, FindTheBestAllowedTokensOfARow) {
  const RowAnswer answer(all_, query_);
  const std::vector<double> logits(all_.begin(), all_.end());
  const std::vector<ScoredToken> greedy = Best(LogSoftmax(Edited(logits)));
  const std::vector<ScoredToken> beam = Best(Edited(LogSoftmax(logits)));
  const std::vector<ScoredToken> again =
      Best(LogSoftmax(Edited(LogSoftmax(logits))));
  std::vector<ScoredToken> tokens;
  for (const size_t count : {1, 2, 5, 40}) {
    SCOPED_TRACE(count);
    ScoreLogits(answer.row(), edits_, count, &tokens, &allowed_);
    ExpectFirst(tokens, greedy, count);
    ScoreLogProbabilities(answer.row(), edits_, false, count, &tokens,
                          &allowed_);
    ExpectFirst(tokens, beam, count);
    ScoreLogProbabilities(answer.row(), edits_, true, count, &tokens,
                          &allowed_);
    ExpectFirst(tokens, again, count);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, RowScoresTest, testing::Range(0, 40));

}  // namespace
}  // namespace trivium
