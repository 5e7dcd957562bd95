#include "model/search/row_scores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace trivium {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// False for NaN, too.
bool Possible(double logprob) { return logprob > kImpossible; }

double OrImpossible(double logit) {
  return Possible(logit) ? logit : kImpossible;
}

// log(exp(rest) + sum(exp(value(i)))) over i < count.
template <typename Value>
double LogSumExp(double rest, size_t count, const Value& value) {
  if (count == 0) return rest;
  double largest = rest;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, value(i));
  if (!Possible(largest)) return kImpossible;
  double sum = std::exp(rest - largest);
  for (size_t i = 0; i < count; ++i) sum += std::exp(value(i) - largest);
  return largest + std::log(sum);
}

bool ScoreForced(const LogitsEdits& edits, std::vector<ScoredToken>* tokens) {
  tokens->clear();
  if (edits.forced.has_value()) tokens->push_back({*edits.forced, 0.0});
  return edits.forced.has_value();
}

// Collects the allowed tokens that are not watched, at most `count`, from the
// whole row.
void CollectRow(const LogitsRow& row, const LogitsEdits& edits, double log_sum,
                const TokenMask& allowed, size_t count,
                std::vector<ScoredToken>* tokens) {
  auto watched = edits.watched.begin();
  const std::span<const uint64_t> words = allowed.words();
  for (size_t w = 0; w < words.size(); ++w) {
    for (uint64_t bits = words[w]; bits != 0; bits &= bits - 1) {
      const size_t token = 64 * w + static_cast<size_t>(std::countr_zero(bits));
      if (token >= row.all.size()) return;
      const int32_t id = static_cast<int32_t>(token);
      while (watched != edits.watched.end() && *watched < id) ++watched;
      if (watched != edits.watched.end() && *watched == id) continue;
      const ScoredToken scored{id, row.all[token] - log_sum};
      if (!Possible(scored.logprob)) continue;
      // A heap with the worst in front.
      if (tokens->size() == count) {
        if (!Better(scored, tokens->front())) continue;
        std::pop_heap(tokens->begin(), tokens->end(), Better);
        tokens->back() = scored;
      } else {
        tokens->push_back(scored);
      }
      std::push_heap(tokens->begin(), tokens->end(), Better);
    }
  }
}

// watched_logprob(i) already contains the edits; `log_sum` is subtracted from
// the logits of tokens that are not watched. `allowed` null: all tokens are.
template <typename Logprob>
void Collect(const LogitsRow& row, const LogitsEdits& edits, double log_sum,
             const Logprob& watched_logprob, const TokenMask* allowed,
             size_t count, std::vector<ScoredToken>* tokens) {
  const auto is_allowed = [allowed](int32_t token) {
    return allowed == nullptr || allowed->Has(token);
  };
  for (const Candidate& candidate : row.best) {
    const double logprob = candidate.logit - log_sum;
    if (Possible(logprob) && is_allowed(candidate.token)) {
      tokens->push_back({candidate.token, logprob});
    }
  }
  // The best tokens of the row are the best of those allowed, if they are
  // enough.
  if (allowed != nullptr && tokens->size() < count) {
    tokens->clear();
    CollectRow(row, edits, log_sum, *allowed, count, tokens);
  }
  for (size_t i = 0; i < row.watched.size(); ++i) {
    const double logprob = watched_logprob(i);
    if (Possible(logprob) && is_allowed(edits.watched[i])) {
      tokens->push_back({edits.watched[i], logprob});
    }
  }
  count = std::min(count, tokens->size());
  std::partial_sort(tokens->begin(), tokens->begin() + count, tokens->end(),
                    Better);
  tokens->resize(count);
}

}  // namespace

bool Better(const ScoredToken& a, const ScoredToken& b) {
  if (a.logprob != b.logprob) return a.logprob > b.logprob;
  return a.token < b.token;
}

void ScoreLogits(const LogitsRow& row, const LogitsEdits& edits, size_t count,
                 std::vector<ScoredToken>* tokens, const TokenMask* allowed) {
  if (ScoreForced(edits, tokens)) return;
  const auto logit = [&](size_t i) {
    return OrImpossible(edits.Apply(i, row.watched[i]));
  };
  const double log_sum =
      LogSumExp(OrImpossible(row.rest_log_sum_exp), row.watched.size(), logit);
  Collect(
      row, edits, log_sum, [&](size_t i) { return logit(i) - log_sum; },
      allowed, count, tokens);
}

double ScoreGiven(const LogitsRow& row, int32_t token, size_t count,
                  std::vector<ScoredToken>* tokens) {
  tokens->clear();
  const double logit = OrImpossible(row.watched[0]);
  const double log_sum = LogSumExp(OrImpossible(row.rest_log_sum_exp), 1,
                                   [logit](size_t) { return logit; });
  if (count > 0) {
    LogitsEdits edits;
    edits.watched = {token};
    Collect(
        row, edits, log_sum, [&](size_t) { return logit - log_sum; }, nullptr,
        count, tokens);
  }
  return Possible(logit) ? logit - log_sum : kImpossible;
}

void ScoreAllLogits(const LogitsRow& row, const LogitsEdits& edits,
                    std::vector<ScoredToken>* tokens,
                    const TokenMask* allowed) {
  if (ScoreForced(edits, tokens)) return;
  for (size_t token = 0; token < row.all.size(); ++token) {
    tokens->push_back(
        {static_cast<int32_t>(token), OrImpossible(row.all[token])});
  }
  for (size_t i = 0; i < edits.watched.size(); ++i) {
    double& logit = (*tokens)[edits.watched[i]].logprob;
    logit = OrImpossible(edits.Apply(i, logit));
  }
  const double log_sum = LogSumExp(kImpossible, tokens->size(), [&](size_t i) {
    return (*tokens)[i].logprob;
  });
  for (ScoredToken& token : *tokens) token.logprob -= log_sum;
  std::erase_if(*tokens, [&](const ScoredToken& token) {
    return !Possible(token.logprob) ||
           (allowed != nullptr && !allowed->Has(token.token));
  });
}

void ScoreLogProbabilities(const LogitsRow& row, const LogitsEdits& edits,
                           bool renormalize, size_t count,
                           std::vector<ScoredToken>* tokens,
                           const TokenMask* allowed) {
  if (ScoreForced(edits, tokens)) return;
  const size_t watched = row.watched.size();
  const double rest = OrImpossible(row.rest_log_sum_exp);
  const double log_sum = LogSumExp(
      rest, watched, [&](size_t i) { return OrImpossible(row.watched[i]); });
  const auto edited = [&](size_t i) {
    return OrImpossible(edits.Apply(i, OrImpossible(row.watched[i]) - log_sum));
  };
  double edited_sum = 0;
  if (renormalize && watched > 0) {
    edited_sum = LogSumExp(OrImpossible(rest - log_sum), watched, edited);
  }
  Collect(
      row, edits, log_sum + edited_sum,
      [&](size_t i) { return edited(i) - edited_sum; }, allowed, count, tokens);
}

std::vector<TokenLogprob> TopLogprobs(const std::vector<ScoredToken>& tokens,
                                      size_t count) {
  std::vector<TokenLogprob> top;
  for (size_t i = 0; i < std::min(count, tokens.size()); ++i) {
    top.push_back({tokens[i].token, static_cast<float>(tokens[i].logprob)});
  }
  return top;
}

}  // namespace trivium
