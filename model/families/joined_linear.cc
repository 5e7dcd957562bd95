#include "model/families/joined_linear.h"

#include <numeric>

namespace trivium {

std::vector<LinearTensors> ReadJoinedLinear(TensorReader* tensors,
                                            const std::string& name,
                                            std::span<const int64_t> rows,
                                            int64_t groups, int in, bool bias,
                                            TensorMemory* memory) {
  std::vector<LinearTensors> parts(rows.size());
  const int64_t out =
      groups * std::accumulate(rows.begin(), rows.end(), int64_t{0});
  const auto split = [&](const TensorView* joined,
                         const TensorView* LinearTensors::*member) {
    if (joined == nullptr) return;
    const auto views = SplitRows(*joined, groups, rows, memory);
    for (size_t i = 0; i < parts.size(); ++i) parts[i].*member = views[i];
  };
  split(tensors->Required(name + ".weight", {out, in}), &LinearTensors::weight);
  if (bias) {
    split(tensors->Required(name + ".bias", {out}), &LinearTensors::bias);
  }
  return parts;
}

AttentionDescription ReadJoinedAttention(TensorReader* tensors,
                                         const JoinedAttention& names,
                                         const AttentionGeometry& geometry,
                                         int d_model, TensorMemory* memory) {
  const int width = geometry.query_width(), kv_width = geometry.kv_width();
  AttentionDescription attention;
  attention.geometry = geometry;
  const int64_t rows[] = {width / names.groups, kv_width / names.groups,
                          kv_width / names.groups};
  const auto parts = ReadJoinedLinear(tensors, names.joined, rows, names.groups,
                                      d_model, names.bias, memory);
  attention.query = parts[0];
  attention.key = parts[1];
  attention.value = parts[2];
  attention.output = tensors->Linear(names.output, d_model, width, names.bias);
  return attention;
}

}  // namespace trivium
