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
// (BERT and similar). An int8 row has one scale, which these dimensions decide,
// and little precision is left for the rest. So inputs are multiplied by
// factors that shrink the great ones, and weights are divided by them:
//   W x = (W / f) (f x),  f_j = sqrt(max |W_j| / max |x_j|)
// which shares the difficulty between both ("SmoothQuant", Xiao et al. 2022).
// The inputs' maxima are measured at load.

// The greatest |x_j| that each linear layer has read.
class InputMaxima {
 public:
  void Add(const Linear& reader, std::span<const float> x);
  // Returns the maxima of a layer; empty if it has read nothing.
  std::span<const float> Of(const Linear& reader) const;

 private:
  std::unordered_map<const Linear*, std::vector<float>> maxima_;
};

// Measures what an encoder's layers read for texts of random tokens, in which
// the same dimensions are great as in real texts.
absl::StatusOr<InputMaxima> MeasureInputs(const Transformer& weights);

// Returns the factors for the stacked layers `parts`, which share one input. A
// dimension with hardly any input counts as a quarter of the median.
AlignedVector<float> SmoothingFactors(std::span<const float> input_maxima,
                                      std::span<const LinearTensors> parts);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SMOOTHING_H_
