#ifndef TRIVIUM_MODEL_SEARCH_SAMPLING_H_
#define TRIVIUM_MODEL_SEARCH_SAMPLING_H_

#include <cstddef>
#include <vector>

#include "model/search/row_scores.h"

namespace trivium {

// Draws one of `tokens` (not empty, any order; they may be reordered and cut)
// at `uniform` in [0, 1). Probabilities are the softmax of log-probabilities
// over options.temperature. top_p, min_p and typical_p then remove tokens, in
// this order, like Transformers' warpers.
ScoredToken DrawToken(const DecodingOptions& options, double uniform,
                      std::vector<ScoredToken>* tokens);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_SAMPLING_H_
