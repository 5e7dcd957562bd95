#include "model/families/conv1d.h"

#include <array>

namespace trivium {

LinearTensors ReadConv1d(TensorReader* tensors, const std::string& name,
                         int out, int in, TensorMemory* memory) {
  const TensorView* const weight =
      tensors->Required(name + ".weight", {in, out});
  return {weight == nullptr ? nullptr : Transpose(*weight, memory),
          tensors->Required(name + ".bias", {out})};
}

AttentionDescription ReadConv1dAttention(TensorReader* tensors,
                                         const std::string& name, int d_model,
                                         const AttentionGeometry& geometry,
                                         TensorMemory* memory) {
  AttentionDescription attention;
  attention.geometry = geometry;
  attention.output =
      ReadConv1d(tensors, name + ".c_proj", d_model, d_model, memory);
  // [3 d_model, d_model], and its bias.
  const LinearTensors joined =
      ReadConv1d(tensors, name + ".c_attn", 3 * d_model, d_model, memory);
  if (joined.weight == nullptr || joined.bias == nullptr) return attention;
  const std::array<int64_t, 3> rows = {d_model, d_model, d_model};
  const auto weights = SplitRows(*joined.weight, 1, rows, memory);
  const auto biases = SplitRows(*joined.bias, 1, rows, memory);
  attention.query = {weights[0], biases[0]};
  attention.key = {weights[1], biases[1]};
  attention.value = {weights[2], biases[2]};
  return attention;
}

}  // namespace trivium
