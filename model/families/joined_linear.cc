#include "model/families/joined_linear.h"

#include <array>
#include <numeric>

namespace trivium {

std::vector<LinearTensors> ReadJoinedLinear(TensorReader* tensors,
                                            const std::string& name,
                                            std::span<const int64_t> rows,
                                            int in, bool bias,
                                            TensorMemory* memory) {
  std::vector<LinearTensors> parts(rows.size());
  const int64_t out = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  const auto split = [&](const TensorView* joined,
                         const TensorView* LinearTensors::*member) {
    if (joined == nullptr) return;
    const auto views = SplitRows(*joined, /*groups=*/1, rows, memory);
    for (size_t i = 0; i < parts.size(); ++i) parts[i].*member = views[i];
  };
  split(tensors->Required(name + ".weight", {out, in}), &LinearTensors::weight);
  if (bias) {
    split(tensors->Required(name + ".bias", {out}), &LinearTensors::bias);
  }
  return parts;
}

void ReadJoinedAttention(TensorReader* tensors, const std::string& name,
                         int d_model, bool bias, TensorMemory* memory,
                         AttentionDescription* attention) {
  const std::array<int64_t, 3> rows = {d_model, d_model, d_model};
  const auto parts =
      ReadJoinedLinear(tensors, name, rows, d_model, bias, memory);
  attention->query = parts[0];
  attention->key = parts[1];
  attention->value = parts[2];
}

}  // namespace trivium
