#ifndef TRIVIUM_MODEL_SEARCH_ROW_SCORES_H_
#define TRIVIUM_MODEL_SEARCH_ROW_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/logits.h"
#include "model/search/decoding.h"
#include "model/search/logits_rules.h"

namespace trivium {

struct ScoredToken {
  int32_t token;
  double logprob;
};

// Higher log-probability first, then lower token id.
bool Better(const ScoredToken& a, const ScoredToken& b);

// The functions below turn an engine's answer into log-probabilities of
// possible tokens (the impossible ones are left out) and write them to
// `tokens`. A NaN of the engine counts as impossible.

// Edits act on logits, then log-softmax, as Transformers' greedy search and
// sampling do it. At most `count` tokens, best first; exact if the row's query
// asked for at least as many.
void ScoreLogits(const LogitsRow& row, const LogitsEdits& edits, size_t count,
                 std::vector<ScoredToken>* tokens);

// The same for every possible token of a row with `all`, by ascending id.
void ScoreAllLogits(const LogitsRow& row, const LogitsEdits& edits,
                    std::vector<ScoredToken>* tokens);

// Log-softmax, then edits act on log-probabilities (and once more log-softmax
// if `renormalize`), as Transformers' beam search does it.
void ScoreLogProbabilities(const LogitsRow& row, const LogitsEdits& edits,
                           bool renormalize, size_t count,
                           std::vector<ScoredToken>* tokens);

// The log-softmax of `token`, the row's only watched one, unchanged; -infinity
// where it is impossible. `tokens`: the best of all as ScoreLogits has them.
double ScoreGiven(const LogitsRow& row, int32_t token, size_t count,
                  std::vector<ScoredToken>* tokens);

// The first `count` of `tokens` for a result's top_logprobs.
std::vector<TokenLogprob> TopLogprobs(const std::vector<ScoredToken>& tokens,
                                      size_t count);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_ROW_SCORES_H_
