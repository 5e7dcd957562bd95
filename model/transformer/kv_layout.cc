#include "model/transformer/kv_layout.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trivium {
namespace {

// Layers of one window and one size, {look_back, tile_bytes}.
using KeysKind = std::pair<int, size_t>;

// Returns the most layers of a kind that a block of this size holds and that
// divide the kind's `count` layers; 0 if it holds none.
int LayersInBlock(const KeysKind& kind, int count, size_t block_bytes) {
  int most = 0;
  for (int layers = 1; layers <= count; ++layers) {
    if (count % layers == 0 && layers * kind.second <= block_bytes) {
      most = layers;
    }
  }
  return most;
}

// Returns the size that wastes the least memory; of equal ones the largest.
size_t BestBlock(const std::map<KeysKind, int>& kinds) {
  size_t best = 0, least = 0;
  for (const auto& [of, of_count] : kinds) {
    for (int layers = 1; layers <= of_count; ++layers) {
      if (of_count % layers != 0) continue;
      const size_t bytes = layers * of.second;
      size_t sum = 0;
      bool fits = true;
      for (const auto& [kind, count] : kinds) {
        const int held = LayersInBlock(kind, count, bytes);
        fits = fits && held > 0;
        if (held > 0) sum += count / held * bytes;
      }
      if (!fits) continue;
      if (best == 0 || sum < least || (sum == least && bytes > best)) {
        best = bytes;
        least = sum;
      }
    }
  }
  return best;
}

}  // namespace

KvLayout::Layer KvLayout::LayerOf(const AttentionGeometry& geometry,
                                  bool attends, KvType type) {
  if (!attends) return {kNoKeys, 0};
  return {geometry.look_back, KvTileBytes(geometry.kv_shape(type)),
          geometry.reads};
}

KvLayout::KvLayout(std::span<const Layer> layers) {
  std::map<KeysKind, int> kinds;  // number of layers
  for (const Layer& layer : layers) {
    if (layer.look_back == kNoKeys) continue;
    if (layer.reads < 0) ++kinds[{layer.look_back, layer.tile_bytes}];
  }
  block_bytes_ = BestBlock(kinds);
  // The first group, the layers of a group, and those with a place so far.
  struct Range {
    int group, layers, placed;
  };
  std::map<KeysKind, Range> ranges;
  for (const auto& [kind, count] : kinds) {
    const int held = LayersInBlock(kind, count, block_bytes_);
    ranges[kind] = {groups(), held, 0};
    windows_.push_back({.look_back = kind.first, .blocks = count / held});
    look_back_.insert(look_back_.end(), count / held, kind.first);
  }
  for (const Layer& layer : layers) {
    if (layer.look_back == kNoKeys) {
      places_.push_back({});
      continue;
    }
    if (layer.reads >= 0) {
      places_.push_back(places_[layer.reads]);
      continue;
    }
    auto& [group, held, placed] = ranges[{layer.look_back, layer.tile_bytes}];
    places_.push_back({group + placed / held, placed % held});
    ++placed;
  }
}

int KvLayout::FirstSeen(int group, int length) const {
  return std::max(0, length - look_back_[group]) / kTileTokens;
}

}  // namespace trivium
