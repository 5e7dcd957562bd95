#ifndef TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_
#define TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_

#include <span>
#include <vector>

#include "model/engine.h"

namespace trivium {

// Divides a decoder's layers into groups that share blocks. A block holds the
// keys and values of kTileTokens tokens in one group. The layers of a group see
// equally far back, so each group releases the blocks that its own window has
// passed. All groups have the same number of layers, so that blocks of one size
// come from one pool: the greatest number that divides the number of layers of
// every window.
//
//   LLaMA, 32 layers that see all: 1 group of 32
//   GPT-OSS, 12 layers with a window and 12 without: 2 groups of 12
//   Gemma 3 1B, 22 layers with a window and 4 without: 11 groups and 2
//   groups, of 2 each
//
// Layers that keep a state per sequence have no keys and values and are in no
// group; so there may be none (state_layout.h).
class KvLayout {
 public:
  // Of a layer without keys and values.
  static constexpr int kNoKeys = -1;

  // `look_back` is AttentionGeometry's, of each layer, or kNoKeys.
  explicit KvLayout(std::span<const int> look_back);

  int groups() const { return static_cast<int>(look_back_.size()); }
  int group_layers() const { return group_layers_; }
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

  int group_layers_;
  std::vector<EngineLimits::Window> windows_;
  std::vector<int> look_back_;  // [groups]
  std::vector<Place> places_;   // [layers]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_
