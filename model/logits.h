#ifndef TRIVIUM_MODEL_LOGITS_H_
#define TRIVIUM_MODEL_LOGITS_H_

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace trivium {

// A search's question about the next token of one hypothesis, and the engine's
// answer. The engine never builds a [rows, vocabulary] array: it keeps the best
// logits while it computes them. All rules that change logits (banned, forced,
// repeated tokens...) are applied by the search. It names the tokens that it
// will change as `watched` and gets their raw logits separately.
struct LogitsQuery {
  // Number of best tokens to return, not counting watched ones; 0 .. 1024.
  int top_k = 0;
  // Sorted ascending, no duplicates, each in [0, vocabulary).
  std::span<const int32_t> watched = {};
  // Also return the logits of the whole row (sampling without top-k).
  bool all = false;

  // True if the query asks for anything. If not, its row is not projected.
  bool asks() const { return top_k > 0 || !watched.empty() || all; }
};

struct Candidate {
  int32_t token;
  float logit;
};

// Views into the engine's memory, valid until its next Step.
//
// If the row's source has a shortlist, tokens outside it have the logit
// -infinity: they are never among `best`, add nothing to `rest_log_sum_exp`
// (-infinity if every token of the list is watched), and are -infinity in
// `watched` and `all`. A token that a search forces needs no logit, so it
// remains possible.
struct LogitsRow {
  // Tokens that are not watched: higher logit first, then lower token id.
  // Fewer than top_k only when the vocabulary or the shortlist has no more.
  std::span<const Candidate> best;
  // log(sum(exp(logit))) over the tokens that are not watched; -infinity if all
  // are watched. log-sum-exp of the whole row = this combined with `watched`.
  float rest_log_sum_exp = 0;
  // Raw logits of the query's watched tokens, in its order.
  std::span<const float> watched;
  // [vocabulary] raw logits if the query asked for all, else empty.
  std::span<const float> all;
};

// The largest logits of a head's row, with the sum that turns them into
// probabilities.
struct BestLogits {
  std::vector<Candidate> best;  // higher logit first, then lower token
  float log_sum_exp = 0;        // over the whole row

  // Returns the softmax over the whole row of one of `best`.
  float Probability(const Candidate& candidate) const {
    return std::exp(candidate.logit - log_sum_exp);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LOGITS_H_
