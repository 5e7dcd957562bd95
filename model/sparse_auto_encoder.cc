#include "model/sparse_auto_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "model/sentence_modules.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

// Shifts and scales as the module does: by the deviation of a sample, to which
// epsilon is added.
void Standardize(std::vector<double>* x) {
  constexpr double kEpsilon = 1e-5;
  const auto size = static_cast<double>(x->size());
  double mean = 0, squares = 0;
  for (const double value : *x) mean += value / size;
  for (const double value : *x) squares += (value - mean) * (value - mean);
  const double divisor = std::sqrt(squares / (size - 1)) + kEpsilon;
  for (double& value : *x) value = (value - mean) / divisor;
}

}  // namespace

absl::StatusOr<SparseAutoEncoder> SparseAutoEncoder::Read(
    const std::string& folder, int in) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  SparseAutoEncoder made;
  made.in_ = in;
  made.normalizes_ = config.value("normalize", json()) == true;
  const json most = config.value("k", json(8));
  if (!most.is_number_unsigned() || most < 1 ||
      most > std::numeric_limits<int>::max()) {
    return UnusableModules(file, "k must be at least 1");
  }
  made.most_active_ = most.get<int>();
  if (made.normalizes_ && in < 2) {
    return UnusableModules(file, "normalize needs embeddings of 2 numbers");
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Weights> weights,
                           Weights::Open(folder));
  // The decoder is the encoder transposed, and a file may name either.
  const TensorView* weight = weights->Find("encoder.weight");
  if (weight == nullptr) weight = weights->Find("decoder.linear.weight");
  if (weight == nullptr || weight->shape.size() != 2 || weight->shape[0] < 1 ||
      weight->shape[1] != in ||
      weight->shape[0] > std::numeric_limits<int>::max()) {
    return UnusableModules(
        folder, fmt::format("its weights need encoder.weight of shape [any, "
                            "{}]",
                            in));
  }
  const int64_t features = weight->shape[0];
  const TensorView* const bias = weights->Find("pre_bias");
  const TensorView* const latent_bias = weights->Find("latent_bias");
  if (bias == nullptr || bias->elements() != in || latent_bias == nullptr ||
      latent_bias->elements() != features) {
    return UnusableModules(
        folder, fmt::format("its weights need pre_bias of shape [{}] and "
                            "latent_bias of shape [{}]",
                            in, features));
  }
  for (const auto& [tensor, values] :
       {std::pair(weight, &made.weight_), std::pair(bias, &made.bias_),
        std::pair(latent_bias, &made.latent_bias_)}) {
    if (!IsReal(*tensor) || FirstNotFinite(*tensor).has_value()) {
      return UnusableModules(folder,
                             "some of its weights are infinite or not numbers");
    }
    values->resize(tensor->elements());
    CopyToF32(*tensor, 0, *values);
  }
  TRIVIUM_RETURN_IF_ERROR(weights->CheckUnchanged());
  return made;
}

std::vector<SparseWeight> SparseAutoEncoder::Of(std::span<const float> x,
                                                std::optional<int> most) const {
  std::vector<double> input(x.begin(), x.end());
  if (normalizes_) Standardize(&input);
  for (size_t i = 0; i < input.size(); ++i) input[i] -= bias_[i];
  std::vector<SparseWeight> weights;
  for (size_t feature = 0; feature < latent_bias_.size(); ++feature) {
    double sum = latent_bias_[feature];
    for (size_t i = 0; i < input.size(); ++i) {
      sum += double{weight_[feature * in_ + i]} * input[i];
    }
    if (sum > 0) {
      weights.push_back(
          {static_cast<int32_t>(feature), static_cast<float>(sum)});
    }
  }
  KeepLargest(most.value_or(most_active_), &weights);
  return weights;
}

void KeepLargest(int count, std::vector<SparseWeight>* weights) {
  if (static_cast<size_t>(count) >= weights->size()) return;
  std::nth_element(weights->begin(), weights->begin() + count, weights->end(),
                   [](const SparseWeight& a, const SparseWeight& b) {
                     return a.weight > b.weight ||
                            (a.weight == b.weight && a.id < b.id);
                   });
  weights->resize(count);
  std::sort(
      weights->begin(), weights->end(),
      [](const SparseWeight& a, const SparseWeight& b) { return a.id < b.id; });
}

}  // namespace trivium
