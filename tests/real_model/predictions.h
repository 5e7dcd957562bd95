#ifndef TRIVIUM_TESTS_REAL_MODEL_PREDICTIONS_H_
#define TRIVIUM_TESTS_REAL_MODEL_PREDICTIONS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "model/engine.h"

namespace trivium {

// What a decoder alone expects of a token.
struct Prediction {
  float logprob;  // of the token that comes
  int32_t best;   // the likeliest
};

// `tokens` are read in windows of so many; each token but a window's first is
// predicted from the window's earlier ones.
absl::StatusOr<std::vector<Prediction>> Predict(Engine* engine,
                                                std::span<const int32_t> tokens,
                                                size_t window);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_REAL_MODEL_PREDICTIONS_H_
