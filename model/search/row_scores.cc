#include "model/search/row_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trivium {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// Also false for NaN.
bool Possible(double logprob) { return logprob > kImpossible; }

double OrImpossible(double logit) {
  return Possible(logit) ? logit : kImpossible;
}

// log(exp(rest) + sum(exp(watched))).
double LogSumExp(double rest, const std::vector<double>& watched) {
  if (watched.empty()) return rest;
  double largest = rest;
  for (const double logit : watched) largest = std::max(largest, logit);
  if (!Possible(largest)) return kImpossible;
  double sum = std::exp(rest - largest);
  for (const double logit : watched) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

bool ScoreForced(const LogitsEdits& edits, std::vector<ScoredToken>* tokens) {
  tokens->clear();
  if (edits.forced.has_value()) tokens->push_back({*edits.forced, 0.0});
  return edits.forced.has_value();
}

// The watched tokens' logprobs come after the edits; those that are not
// watched lose `log_sum` from their logits.
void Collect(const LogitsRow& row, const LogitsEdits& edits, double log_sum,
             const std::vector<double>& watched_logprobs, size_t count,
             std::vector<ScoredToken>* tokens) {
  for (const Candidate& candidate : row.best) {
    const double logprob = candidate.logit - log_sum;
    if (Possible(logprob)) tokens->push_back({candidate.token, logprob});
  }
  for (size_t i = 0; i < watched_logprobs.size(); ++i) {
    if (Possible(watched_logprobs[i])) {
      tokens->push_back({edits.watched[i], watched_logprobs[i]});
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
                 std::vector<ScoredToken>* tokens) {
  if (ScoreForced(edits, tokens)) return;
  std::vector<double> watched(row.watched.size());
  for (size_t i = 0; i < watched.size(); ++i) {
    watched[i] = OrImpossible(edits.Apply(i, row.watched[i]));
  }
  const double log_sum = LogSumExp(OrImpossible(row.rest_log_sum_exp), watched);
  for (double& logit : watched) logit -= log_sum;
  Collect(row, edits, log_sum, watched, count, tokens);
}

void ScoreAllLogits(const LogitsRow& row, const LogitsEdits& edits,
                    std::vector<ScoredToken>* tokens) {
  if (ScoreForced(edits, tokens)) return;
  std::vector<double> logits(row.all.begin(), row.all.end());
  for (double& logit : logits) logit = OrImpossible(logit);
  for (size_t i = 0; i < edits.watched.size(); ++i) {
    double& logit = logits[edits.watched[i]];
    logit = OrImpossible(edits.Apply(i, logit));
  }
  const double log_sum = LogSumExp(kImpossible, logits);
  for (size_t token = 0; token < logits.size(); ++token) {
    const double logprob = logits[token] - log_sum;
    if (Possible(logprob)) {
      tokens->push_back({static_cast<int32_t>(token), logprob});
    }
  }
}

void ScoreLogProbabilities(const LogitsRow& row, const LogitsEdits& edits,
                           bool renormalize, size_t count,
                           std::vector<ScoredToken>* tokens) {
  if (ScoreForced(edits, tokens)) return;
  std::vector<double> watched(row.watched.size());
  for (size_t i = 0; i < watched.size(); ++i) {
    watched[i] = OrImpossible(row.watched[i]);
  }
  const double rest = OrImpossible(row.rest_log_sum_exp);
  double log_sum = LogSumExp(rest, watched);
  for (size_t i = 0; i < watched.size(); ++i) {
    watched[i] = OrImpossible(edits.Apply(i, watched[i] - log_sum));
  }
  if (renormalize && !watched.empty()) {
    const double edited = LogSumExp(OrImpossible(rest - log_sum), watched);
    for (double& logprob : watched) logprob -= edited;
    log_sum += edited;
  }
  Collect(row, edits, log_sum, watched, count, tokens);
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
