#ifndef TRIVIUM_MODEL_TRANSFORMER_STATE_LAYOUT_H_
#define TRIVIUM_MODEL_TRANSFORMER_STATE_LAYOUT_H_

#include <cstddef>
#include <span>
#include <vector>

#include "model/kernels/state_step.h"

namespace trivium {

// The sizes of the state that a layer keeps per sequence (MixerDescription):
// the last inputs of its convolution, and a matrix for each head, all in f32.
// The default is a layer without a state.
struct StateShape {
  // Channels whose inputs lie together.
  static constexpr int kChannelsTogether = 512;

  int channels = 0;
  int kept = 0;  // inputs of each channel: the convolution's width - 1
  int heads = 0;
  int rows = 0;     // of a head's matrix: the size of its keys
  int columns = 0;  // the size of its values

  int chunks() const {
    return (channels + kChannelsTogether - 1) / kChannelsTogether;
  }
  int panels() const { return (columns + kStateColumns - 1) / kStateColumns; }
};

// A state that a step saves for the prefix index: the one after `length`
// tokens.
struct SavedState {
  int length = 0;
  std::vector<int> blocks;
};

// Places the states of all layers in a sequence's state blocks, which come from
// the same pool as blocks of keys and values (kv_cache.h). The pieces that a
// kernel reads as one are never divided:
//
//   a chunk of channels: [kept, up to kChannelsTogether]
//   a panel of a head's matrix: [rows, kStateColumns]
//
// Invariants of states:
// - A sequence has one state, after its `length` tokens; without tokens it has
//   none, which counts as zeros. A step updates it in place, token by token.
// - Hypotheses share the blocks of a state by reference. A hypothesis that
//   writes to a block that another one holds copies it first.
// - A state that is saved with a prefix is the state after a whole number of
//   kTileTokens tokens. Its blocks are in the prefix index and are not written.
// - A state cannot go back: there is no truncation.
class StateLayout {
 public:
  // The place of a piece: an index into a sequence's state blocks, and bytes.
  struct Place {
    int block = 0;
    size_t offset = 0;
  };

  StateLayout() = default;
  // `block_bytes` is at least LargestPiece(layers).
  StateLayout(std::span<const StateShape> layers, size_t block_bytes);

  // Bytes of the largest piece; 0 if no layer has a state.
  static size_t LargestPiece(std::span<const StateShape> layers);

  // Blocks of a sequence's state; 0 if no layer has one.
  int blocks() const { return blocks_; }
  const Place& Chunk(int layer, int chunk) const {
    return layers_[layer].chunks[chunk];
  }
  Place Panel(int layer, int head, int panel) const {
    const Layer& one = layers_[layer];
    return PanelAt(one, head * one.panels_a_head + panel);
  }

 private:
  // Panels, [heads, panels a head], are many and of one size, so only the place
  // of the first one is kept.
  struct Layer {
    std::vector<Place> chunks;
    Place first_panel;
    int panels_a_head = 0;
    size_t panel_bytes = 0;
  };

  // Returns the place of a layer's i-th panel.
  Place PanelAt(const Layer& layer, int i) const;

  size_t block_bytes_ = 0;
  int blocks_ = 0;
  std::vector<Layer> layers_;
};

// The memory of states, in the blocks of a KvCache.
struct StateMemory {
  const StateLayout* layout = nullptr;
  char* first = nullptr;  // block 0
  size_t block_bytes = 0;

  // The pieces of a layer in the state that has `blocks`.
  float* Chunk(const int* blocks, int layer, int chunk) const {
    return At(blocks, layout->Chunk(layer, chunk));
  }
  float* Panel(const int* blocks, int layer, int head, int panel) const {
    return At(blocks, layout->Panel(layer, head, panel));
  }

 private:
  float* At(const int* blocks, const StateLayout::Place& place) const {
    return reinterpret_cast<float*>(first + block_bytes * blocks[place.block] +
                                    place.offset);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_STATE_LAYOUT_H_
