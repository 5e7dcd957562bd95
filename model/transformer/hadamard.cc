#include "model/transformer/hadamard.h"

#include <algorithm>
#include <vector>

#include "model/kernels/row_ops.h"
#include "model/transformer/grouped_linear.h"

namespace trivium {
namespace {

bool NormalizesItsOutput(const LayerDescription& layer) {
  return layer.feed_forward_norms.after.has_value();
}

}  // namespace

bool UsesHadamard(const TransformerDescription& description,
                  const Formats& formats) {
  if ((formats.operands != OperandType::kInt8 &&
       formats.operands != OperandType::kInt8Groups) ||
      !description.decoder.has_value()) {
    return false;
  }
  const std::vector<LayerDescription>& layers = description.decoder->layer;
  if (description.encoder.has_value() &&
      std::any_of(layers.begin(), layers.end(), NormalizesItsOutput)) {
    return false;
  }
  bool quantized = false;
  ForEachTensor(description, [&](const TensorView& tensor) {
    quantized = quantized || tensor.row_scales != nullptr;
  });
  if (formats.operands == OperandType::kInt8Groups) {
    quantized = quantized || HasFourBitWeights(description);
  }
  return !quantized;
}

void HadamardWeights(std::span<float> row) {
  const int n = static_cast<int>(row.size());
  HadamardRow(row.data(), n, row.data());
  const float inverse = 1.0f / static_cast<float>(HadamardSize(n));
  for (float& value : row) value *= inverse;
}

}  // namespace trivium
