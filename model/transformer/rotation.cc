#include "model/transformer/rotation.h"

#include <algorithm>
#include <vector>

#include "model/kernels/row_ops.h"

namespace trivium {
namespace {

bool NormalizesWhatItPassesOn(const LayerDescription& layer) {
  return layer.feed_forward_norms.after.has_value();
}

}  // namespace

bool Rotates(const TransformerDescription& description,
             const Formats& formats) {
  if (formats.operands != OperandType::kInt8 ||
      !description.decoder.has_value()) {
    return false;
  }
  const std::vector<LayerDescription>& layers = description.decoder->layer;
  if (description.encoder.has_value() &&
      std::any_of(layers.begin(), layers.end(), NormalizesWhatItPassesOn)) {
    return false;
  }
  bool quantized = false;
  ForEachTensor(description, [&](const TensorView& tensor) {
    quantized = quantized || tensor.row_scales != nullptr;
  });
  return !quantized;
}

void RotateWeights(std::span<float> row) {
  const int n = static_cast<int>(row.size());
  RotateRow(row.data(), n, row.data());
  const float inverse = 1.0f / static_cast<float>(RotationSize(n));
  for (float& value : row) value *= inverse;
}

}  // namespace trivium
