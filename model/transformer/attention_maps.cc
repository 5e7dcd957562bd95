#include "model/transformer/attention_maps.h"

#include <algorithm>
#include <numeric>

namespace trivium {
namespace {

std::vector<int> OrAll(const std::vector<int>& selected, int all) {
  if (!selected.empty()) return selected;
  std::vector<int> everything(all);
  std::iota(everything.begin(), everything.end(), 0);
  return everything;
}

int IndexOf(const std::vector<int>& values, int value) {
  const auto found = std::find(values.begin(), values.end(), value);
  return found == values.end() ? -1 : static_cast<int>(found - values.begin());
}

}  // namespace

AttentionMaps::AttentionMaps(const AttentionSelection& selection, int layers,
                             int heads, int queries, int keys,
                             std::vector<float>* values)
    : layers_(OrAll(selection.layers, layers)),
      heads_(OrAll(selection.heads, heads)),
      queries_(queries),
      keys_(keys),
      values_(values) {
  values_->resize(layers_.size() * heads_.size() * queries * keys);
}

float* AttentionMaps::Map(int layer, int head) const {
  const int l = IndexOf(layers_, layer);
  const int h = IndexOf(heads_, head);
  if (l < 0 || h < 0) return nullptr;
  return &(*values_)[(l * heads_.size() + h) * queries_ * keys_];
}

}  // namespace trivium
