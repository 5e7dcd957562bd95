#ifndef TRIVIUM_MODEL_SEARCH_SAMPLING_H_
#define TRIVIUM_MODEL_SEARCH_SAMPLING_H_

#include <cstddef>
#include <vector>

#include "model/search/row_scores.h"

namespace trivium {

// Draws one of `tokens` (not empty, any order; may be reordered): softmax of
// their log-probabilities over `temperature`, of which only the most probable
// ones whose sum reaches `top_p` stay, at `uniform` in [0, 1).
ScoredToken DrawToken(double temperature, double top_p, double uniform,
                      std::vector<ScoredToken>* tokens);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_SAMPLING_H_
