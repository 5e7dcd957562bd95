#ifndef TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_
#define TRIVIUM_MODEL_TRANSFORMER_KV_LAYOUT_H_

#include <span>
#include <vector>

#include "model/engine.h"

namespace trivium {

// Which of a decoder's layers keep keys and values together. A block holds
// those of kTileTokens tokens in one group of layers that see equally far back,
// so that each group gives up what its own window has passed. All groups are
// equally large, and so are their blocks, which come out of one pool: as large
// as divides the number of layers of every window.
//
//   LLaMA, 32 layers that see all: a group of 32
//   GPT-OSS, 12 layers that slide and 12 that do not: two groups of 12
//   Gemma 3 1B, 22 that slide and 4 that do not: 11 groups of 2, and 2 of 2
class KvLayout {
 public:
  // `look_back`: of each layer, as AttentionGeometry has it.
  explicit KvLayout(std::span<const int> look_back);

  int groups() const { return static_cast<int>(look_back_.size()); }
  int group_layers() const { return group_layers_; }
  // Where a layer is.
  int group(int layer) const { return places_[layer].group; }
  int place(int layer) const { return places_[layer].place; }

  // The first block of a group that a token reads which stands behind `length`
  // others.
  int FirstSeen(int group, int length) const;
  // What an engine tells of the groups.
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
