#include "client/commands/attention_maps.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trivium {

const char* NameOf(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kEncoder:
      return "encoder";
    case AttentionKind::kCross:
      return "cross";
    case AttentionKind::kDecoder:
      return "decoder";
  }
  return "";
}

std::vector<std::string> KindNames() {
  return {NameOf(AttentionKind::kEncoder), NameOf(AttentionKind::kCross),
          NameOf(AttentionKind::kDecoder)};
}

AttentionKind KindOf(std::string_view name) {
  for (const AttentionKind kind :
       {AttentionKind::kEncoder, AttentionKind::kCross}) {
    if (name == NameOf(kind)) return kind;
  }
  return AttentionKind::kDecoder;
}

DrawnMaps::Range DrawnMaps::Seen(size_t layer, size_t row) const {
  if (!seen_first) return {0, keys.size()};
  const size_t end = std::min<size_t>(keys.size(), *seen_first + rows[row]);
  const size_t window = windows.empty() ? 0 : windows[layer];
  return {window == 0 || window > end ? 0 : end - window, end};
}

bool ChooseRows(const std::vector<uint32_t>& chosen, DrawnMaps* maps) {
  maps->all_queries = static_cast<uint32_t>(maps->queries.size());
  maps->rows.resize(maps->all_queries);
  std::iota(maps->rows.begin(), maps->rows.end(), 0u);
  if (chosen.empty()) return true;
  std::erase_if(maps->rows, [&chosen](uint32_t row) {
    return std::find(chosen.begin(), chosen.end(), row) == chosen.end();
  });
  std::vector<std::string> queries;
  for (const uint32_t row : maps->rows) queries.push_back(maps->queries[row]);
  maps->queries = std::move(queries);
  return !maps->rows.empty();
}

bool ShrinkToFit(size_t cells, std::vector<DrawnMaps>* maps) {
  while (true) {
    size_t sum = 0;
    for (const DrawnMaps& one : *maps) sum += one.size();
    if (sum <= cells) return true;
    DrawnMaps& largest = *std::max_element(
        maps->begin(), maps->end(),
        [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (largest.layers.size() > 1) {
      largest.layers.erase(largest.layers.begin());
      if (!largest.windows.empty()) {
        largest.windows.erase(largest.windows.begin());
      }
    } else if (largest.heads.size() > 1) {
      largest.heads.pop_back();
    } else {
      return false;
    }
  }
}

DrawnMaps Slice(const DrawnMaps& maps, const std::vector<uint32_t>& layers,
                const std::vector<uint32_t>& heads) {
  DrawnMaps slice = maps;
  slice.layers = layers;
  slice.heads = heads;
  slice.weights.clear();
  const size_t size = maps.rows.size() * maps.keys.size();
  const auto place = [](const std::vector<uint32_t>& all, uint32_t one) {
    return std::find(all.begin(), all.end(), one) - all.begin();
  };
  slice.windows.clear();
  for (const uint32_t layer : layers) {
    if (!maps.windows.empty()) {
      slice.windows.push_back(maps.windows[place(maps.layers, layer)]);
    }
    for (const uint32_t head : heads) {
      const auto from = maps.weights.begin() +
                        (place(maps.layers, layer) * maps.heads.size() +
                         place(maps.heads, head)) *
                            size;
      slice.weights.insert(slice.weights.end(), from, from + size);
    }
  }
  return slice;
}

}  // namespace trivium
