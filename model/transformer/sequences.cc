#include "model/transformer/sequences.h"

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

SelectedMaps::SelectedMaps(const AttentionSelection& selection, int all_layers,
                           int all_heads)
    : layers(OrAll(selection.layers, all_layers)),
      heads(OrAll(selection.heads, all_heads)) {}

int SelectedMaps::Find(int layer, int head) const {
  const int l = IndexOf(layers, layer);
  const int h = IndexOf(heads, head);
  return l < 0 || h < 0 ? -1 : l * static_cast<int>(heads.size()) + h;
}

}  // namespace trivium
