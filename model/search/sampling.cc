#include "model/search/sampling.h"

#include <algorithm>
#include <cmath>

namespace trivium {
namespace {

// Moves the fewest best tokens whose weights reach `share` of `total` to the
// front, best first, and returns how many they are. A token stays while those
// before it do not reach the share, as in Transformers' TopPLogitsWarper.
template <typename Weight>
size_t KeepTopP(double share, double total, const Weight& weight,
                std::vector<ScoredToken>* tokens) {
  // Few tokens carry nearly all weight: sorting all of them is rarely needed.
  size_t sorted = 0;
  size_t kept = 0;
  double sum = 0;
  while (kept < tokens->size() && (kept == 0 || sum < share * total)) {
    if (kept == sorted) {
      const size_t end =
          std::min(tokens->size(), std::max<size_t>(64, sorted * 8));
      std::partial_sort(tokens->begin() + sorted, tokens->begin() + end,
                        tokens->end(), Better);
      sorted = end;
    }
    sum += weight((*tokens)[kept++]);
  }
  return kept;
}

}  // namespace

ScoredToken DrawToken(double temperature, double top_p, double uniform,
                      std::vector<ScoredToken>* tokens) {
  double largest = tokens->front().logprob;
  for (const ScoredToken& token : *tokens) {
    largest = std::max(largest, token.logprob);
  }
  const auto weight = [&](const ScoredToken& token) {
    return std::exp((token.logprob - largest) / temperature);
  };
  double total = 0;
  for (const ScoredToken& token : *tokens) total += weight(token);
  size_t kept = tokens->size();
  if (top_p < 1) {
    kept = KeepTopP(top_p, total, weight, tokens);
    total = 0;
    for (size_t i = 0; i < kept; ++i) total += weight((*tokens)[i]);
  }
  double sum = 0;
  size_t last = 0;  // with a weight, for when rounding leaves uniform beyond
  for (size_t i = 0; i < kept; ++i) {
    const double w = weight((*tokens)[i]);
    sum += w;
    if (sum > uniform * total) return (*tokens)[i];
    if (w > 0) last = i;
  }
  return (*tokens)[last];
}

}  // namespace trivium
