#ifndef TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_
#define TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/kv_layout.h"
#include "model/transformer/prefix_index.h"
#include "model/transformer/state_layout.h"

namespace trivium {

// The blocks of a sequence in one group of layers.
struct BlockTable {
  std::vector<int> blocks;  // in the order of its tokens
  // Number of leading blocks that are released: no later token sees their keys.
  int passed = 0;

  std::span<const int> held() const {
    return std::span(blocks).subspan(static_cast<size_t>(passed));
  }
  // Keeps the vector's memory for the next sequence.
  void Clear() {
    blocks.clear();
    passed = 0;
  }
};

// Addresses of a layer's keys and values: tiles, indexed by block.
struct KvTiles {
  KvShape shape;
  char* first = nullptr;  // tile of block 0
  size_t stride = 0;      // bytes between the tiles of adjacent blocks

  char* operator[](int block) const { return first + stride * block; }
};

// The keys and values of all decoder layers, in blocks of kTileTokens tokens,
// for self-attention (the tables of a hypothesis; hypotheses share blocks by
// reference) and for cross-attention (the tables of a source). Not thread-safe.
//
// A block holds one tile (model/kernels/attention.h) for each layer of a group
// (kv_layout.h); any group may use it. The states of a hypothesis are in other
// blocks of the same pool (state_layout.h).
//
// A block without references is free. A free block in the prefix index is
// cached: it is allocated only if no other block is free, the one released
// longest ago first. Other free blocks are allocated last released first, so
// that the blocks of short requests stay in the CPU's caches; caching every
// block would make each new one cold memory. So only blocks that are likely to
// be read again are registered: those of announced prefixes and of suspended
// hypotheses.
class KvCache {
 public:
  // `shapes` are of the layers' keys and values, `states` of the layers'
  // states. At most `max_cached` blocks are cached.
  KvCache(std::vector<KvShape> shapes, KvLayout layout,
          std::span<const StateShape> states, int blocks, int max_cached);

  // Bytes of a block: of a group's keys and values or, if that is more, of the
  // largest piece of a state.
  static size_t BlockBytes(const KvLayout& layout,
                           std::span<const StateShape> states) {
    return std::max(layout.block_bytes(), StateLayout::LargestPiece(states));
  }

  int total_blocks() const { return static_cast<int>(references_.size()); }
  int free_blocks() const { return static_cast<int>(free_.size()) + cached_; }
  // The free blocks that are cached.
  int cached_blocks() const { return cached_; }

  // Returns a block with one reference. Requires a free block.
  int Allocate();
  // Adds a reference; also revives a cached block.
  void Share(int block);
  void Release(int block);
  bool shared(int block) const { return references_[block] > 1; }
  int references(int block) const { return references_[block]; }
  // Replaces the caller's reference to `block` by one to a new copy of it,
  // which is returned. Requires a free block.
  int CopyForWriting(int block);

  // Returns the tiles of a layer, within the blocks of its group.
  KvTiles Tiles(int layer) const {
    const KvShape& shape = shapes_[layer];
    return {shape, memory_.data() + KvTileBytes(shape) * layout_.place(layer),
            block_bytes_};
  }

  const StateLayout& states() const { return states_; }
  StateMemory state_memory() {
    return {&states_, memory_.data(), block_bytes_};
  }
  // The most blocks that may be cached.
  int max_cached() const { return max_cached_; }

  const KvLayout& layout() const { return layout_; }
  PrefixIndex& prefix_index() { return prefix_index_; }

 private:
  // The cached blocks form a doubly linked ring. Its sentinel is the element
  // after the last block; the sentinel's `next` was released longest ago.
  struct Link {
    int previous, next;
  };
  void AddToRing(int block);
  void RemoveFromRing(int block);
  // Removes the cached block that was released longest ago and returns it.
  int EvictOldest();

  std::vector<KvShape> shapes_;  // [layers]
  KvLayout layout_;
  size_t block_bytes_;
  StateLayout states_;
  Buffer<char> memory_;
  std::vector<int> references_;  // [blocks]
  std::vector<int> free_;        // free and not cached; used from the back
  PrefixIndex prefix_index_;
  std::vector<Link> ring_;  // [blocks + 1]
  int cached_ = 0;
  const int max_cached_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_
