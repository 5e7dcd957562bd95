#ifndef TRIVIUM_MODEL_SEARCH_SAMPLING_H_
#define TRIVIUM_MODEL_SEARCH_SAMPLING_H_

#include <cstddef>
#include <vector>

#include "model/search/row_scores.h"

namespace trivium {

// Draws one of `tokens` (not empty, any order; may be reordered and cut) at
// `uniform` in [0, 1): softmax of their log-probabilities over
// options.temperature, of which top_p, min_p and typical_p leave a part, as
// Transformers' warpers do it and in this order.
ScoredToken DrawToken(const DecodingOptions& options, double uniform,
                      std::vector<ScoredToken>* tokens);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_SAMPLING_H_
