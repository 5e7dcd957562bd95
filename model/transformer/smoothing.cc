#include "model/transformer/smoothing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "base/status.h"
#include "model/transformer/encoder.h"
#include "model/transformer/linear.h"
#include "model/transformer/transformer.h"

namespace trivium {
namespace {

constexpr int kTexts = 4;
constexpr int kTokens = 32;
constexpr float kLeastOfMedian = 0.25f;

float Median(std::vector<float> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void InputMaxima::Add(const Linear& reader, std::span<const float> x) {
  std::vector<float>& maxima = maxima_[&reader];
  maxima.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    maxima[i] = std::max(maxima[i], std::fabs(x[i]));
  }
}

std::span<const float> InputMaxima::Of(const Linear& reader) const {
  const auto found = maxima_.find(&reader);
  if (found == maxima_.end()) return {};
  return found->second;
}

absl::StatusOr<InputMaxima> MeasureInputs(const Transformer& weights) {
  const Stack& stack = *weights.encoder();
  std::mt19937 generator(1);
  std::vector<SourceState> texts(kTexts);
  std::vector<SourceState*> sources;
  for (SourceState& text : texts) {
    for (int i = 0; i < std::min(kTokens, stack.max_positions); ++i) {
      text.input.ids.push_back(
          static_cast<int32_t>(generator() % stack.vocabulary));
    }
    sources.push_back(&text);
  }
  InputMaxima maxima;
  Encoder encoder(weights);
  encoder.Observe(&maxima);
  Workspace workspace;
  TRIVIUM_RETURN_IF_ERROR(encoder.Run(sources,
                                      static_cast<int>(stack.layers.size()),
                                      /*cache=*/nullptr, &workspace));
  return maxima;
}

AlignedVector<float> SmoothingFactors(std::span<const float> input_maxima,
                                      std::span<const LinearTensors> parts) {
  const size_t in = input_maxima.size();
  std::vector<float> weight_maxima(in), row(in);
  for (const LinearTensors& part : parts) {
    for (int64_t i = 0; i < part.weight->shape[0]; ++i) {
      CopyToF32(*part.weight, i * static_cast<int64_t>(in), row);
      for (size_t j = 0; j < in; ++j) {
        weight_maxima[j] = std::max(weight_maxima[j], std::fabs(row[j]));
      }
    }
  }
  const float least =
      kLeastOfMedian * Median({input_maxima.begin(), input_maxima.end()});
  AlignedVector<float> factors(in);
  for (size_t j = 0; j < in; ++j) {
    const float factor =
        std::sqrt(weight_maxima[j] / std::max(input_maxima[j], least));
    // Not a number for weights that are all zero or states that are not finite.
    factors[j] = factor > 0 && std::isfinite(factor) ? factor : 1.0f;
  }
  return factors;
}

}  // namespace trivium
