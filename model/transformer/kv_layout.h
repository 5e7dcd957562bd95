#ifndef TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_
#define TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_

#include <cstddef>
#include <span>
#include <vector>

#include "model/engine.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/description.h"

namespace trivium {

// Divides a decoder's layers into groups that share blocks. A block holds the
// keys and values of kTileTokens tokens in one group. The layers of a group see
// equally far back, so each group releases the blocks that its own window has
// passed. Blocks of one size come from one pool, so the groups of one window
// are equal. Of the sizes that waste the least memory, the largest is taken. If
// all layers' keys and values have one shape, all groups have as many layers as
// the greatest number that divides the number of layers of every window.
//
//   LLaMA, 32 layers that see all: 1 group of 32
//   GPT-OSS, 12 layers with a window and 12 without: 2 groups of 12
//   Gemma 3 1B, 22 layers with a window and 4 without: 11 groups and 2
//   groups, of 2 each
//   Gemma 4 E2B, 12 layers with a window and 3 without, of twice the size: 2
//   groups of 6 and 1 of 3
//
// Layers that read an earlier layer's keys and values have that layer's place.
// Layers that keep a state per sequence have no keys and values and are in no
// group; so there may be none (state_layout.h).
class KvLayout {
 public:
  // The look_back of a layer without keys and values.
  static constexpr int kNoKeys = -1;

  struct Layer {
    int look_back;      // AttentionGeometry's, or kNoKeys
    size_t tile_bytes;  // KvTileBytes of its keys and values
    int reads = -1;     // AttentionGeometry's
  };
  explicit KvLayout(std::span<const Layer> layers);

  // Returns a layer as the layout needs it. `attends` is LayerDescription's.
  static Layer LayerOf(const AttentionGeometry& geometry, bool attends,
                       KvType type);

  int groups() const { return static_cast<int>(look_back_.size()); }
  // Bytes of a group's keys and values, of the group that has the most; 0 if
  // there is no group.
  size_t block_bytes() const { return block_bytes_; }
  // A layer's group, and its index within the group; of layers with keys.
  int group(int layer) const { return places_[layer].group; }
  int place(int layer) const { return places_[layer].place; }

  // Returns the first block of a group that the token after `length` tokens
  // reads.
  int FirstSeen(int group, int length) const;
  // The groups as an engine reports them.
  const std::vector<EngineLimits::Window>& windows() const { return windows_; }

 private:
  struct Place {
    int group;
    int place;
  };

  size_t block_bytes_ = 0;
  std::vector<EngineLimits::Window> windows_;
  std::vector<int> look_back_;  // [groups]
  std::vector<Place> places_;   // [layers]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_
