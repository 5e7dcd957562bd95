#ifndef TRIVIUM_MODEL_TRANSFORMER_SMOOTHING_H_
#define TRIVIUM_MODEL_TRANSFORMER_SMOOTHING_H_

#include <span>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"
#include "model/transformer/description.h"

namespace trivium {

class Linear;
class Transformer;

// A few dimensions of an encoder's states may be ten times greater than most
// (BERT and its kin). A row of int8 has one scale, which these
// dimensions decide, and little is left of the rest. So inputs are multiplied
// by factors that take from the great ones, and weights divided by them:
//   W x = (W / f) (f x),  f_j = sqrt(max |W_j| / max |x_j|)
// which shares the difficulty between both ("SmoothQuant", Xiao et al. 2022).
// What the inputs' maxima are is measured at load.

// The greatest |x_j| of what linear layers have read.
class InputMaxima {
 public:
  void Add(const Linear& reader, std::span<const float> x);
  // Empty for one that has read nothing.
  std::span<const float> Of(const Linear& reader) const;

 private:
  std::unordered_map<const Linear*, std::vector<float>> maxima_;
};

// What the layers of an encoder read of texts of random tokens, in which the
// same dimensions are great as in real ones.
absl::StatusOr<InputMaxima> MeasureInputs(const Transformer& weights);

// Factors for the stacked layers `parts`, which have one input. A dimension
// that was hardly seen is taken for a quarter of a usual one.
AlignedVector<float> SmoothingFactors(std::span<const float> input_maxima,
                                      std::span<const LinearTensors> parts);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SMOOTHING_H_
