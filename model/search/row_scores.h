#ifndef TRIVIUM_MODEL_SEARCH_ROW_SCORES_H_
#define TRIVIUM_MODEL_SEARCH_ROW_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/grammar/token_trie.h"
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

// The functions below turn an engine's answer into log-probabilities of the
// possible tokens and write them to `tokens`, without the impossible ones. A
// NaN from the engine counts as impossible. With `allowed`, which needs a row
// that was asked for all logits, they write only its tokens, whose
// log-probabilities are the same as without it; a forced token is written
// always.

// Applies the edits to logits, then log-softmax, like Transformers' greedy
// search and sampling. At most `count` tokens, best first; exact if the row's
// query asked for at least as many.
void ScoreLogits(const LogitsRow& row, const LogitsEdits& edits, size_t count,
                 std::vector<ScoredToken>* tokens,
                 const TokenMask* allowed = nullptr);

// Does the same for every possible token of a row with `all`, by ascending id.
void ScoreAllLogits(const LogitsRow& row, const LogitsEdits& edits,
                    std::vector<ScoredToken>* tokens,
                    const TokenMask* allowed = nullptr);

// Applies log-softmax and then the edits to log-probabilities (and log-softmax
// once more if `renormalize`), like Transformers' beam search.
void ScoreLogProbabilities(const LogitsRow& row, const LogitsEdits& edits,
                           bool renormalize, size_t count,
                           std::vector<ScoredToken>* tokens,
                           const TokenMask* allowed = nullptr);

// Returns the log-softmax of `token`, the row's only watched one, without
// edits; -infinity if it is impossible. `tokens` receives the best of all, as
// in ScoreLogits.
double ScoreGiven(const LogitsRow& row, int32_t token, size_t count,
                  std::vector<ScoredToken>* tokens);

// Returns the first `count` of `tokens` for a result's top_logprobs.
std::vector<TokenLogprob> TopLogprobs(const std::vector<ScoredToken>& tokens,
                                      size_t count);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_ROW_SCORES_H_
