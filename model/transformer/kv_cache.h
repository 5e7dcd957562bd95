#ifndef TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_
#define TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/known_blocks.h"
#include "model/transformer/kv_layout.h"

namespace trivium {

// A sequence's blocks in a group of layers.
struct BlockTable {
  std::vector<int> blocks;  // in order of its tokens
  // The first so many are given up: no later token sees their keys.
  int passed = 0;

  std::span<const int> held() const {
    return std::span(blocks).subspan(static_cast<size_t>(passed));
  }
  // Keeps the memory for the next sequence.
  void Clear() {
    blocks.clear();
    passed = 0;
  }
};

// Where a layer's keys and values are: tiles, found by the number of a block.
struct KvTiles {
  KvShape shape;
  char* first = nullptr;  // block 0's
  size_t stride = 0;      // bytes from a block's to the next one's

  char* operator[](int block) const { return first + stride * block; }
};

// Keys and values of all decoder layers in blocks of kTileTokens tokens, for
// self-attention (tables of a hypothesis; hypotheses share blocks by reference)
// and for cross-attention (tables of a source). Not thread-safe.
//
// A block is a tile (model/kernels/attention.h) for each layer of a group
// (kv_layout.h), and any group's.
//
// A block without references is free. If its contents are known it is kept:
// taken only when no other block is free, the one that was released longest
// ago first. Others are taken last released first, so that the blocks of
// requests that come and go stay in the caches; to keep every block would
// lead each new one through cold memory. So known are only blocks that are
// likely to be read again: of beginnings that were given, and of what was
// suspended.
class KvCache {
 public:
  // At most `most_kept` blocks are kept.
  KvCache(const KvShape& shape, KvLayout layout, int blocks, int most_kept);

  static size_t BlockBytes(const KvShape& shape, const KvLayout& layout) {
    return KvTileBytes(shape) * layout.group_layers();
  }

  int total_blocks() const { return static_cast<int>(references_.size()); }
  int free_blocks() const { return static_cast<int>(free_.size()) + kept_; }
  // Of the free ones.
  int kept_blocks() const { return kept_; }

  // The caller knows that a block is free.
  int Take();
  // One more reference; the first one to a kept block, too.
  void Share(int block);
  void Release(int block);
  bool shared(int block) const { return references_[block] > 1; }
  int references(int block) const { return references_[block]; }
  // A block of the caller's own with the same contents; its reference to
  // `block` moves to the copy.
  int CopyForWriting(int block);

  // Tiles of a layer, in the blocks of its group.
  KvTiles Tiles(int layer) const {
    return {shape_, memory_.data() + tile_bytes_ * layout_.place(layer),
            block_bytes_};
  }

  const KvShape& shape() const { return shape_; }
  const KvLayout& layout() const { return layout_; }
  KnownBlocks& known() { return known_; }

 private:
  // The kept blocks are a ring through an element after the last block: its
  // next was released longest ago.
  struct Link {
    int previous, next;
  };
  void AddToRing(int block);
  void RemoveFromRing(int block);
  // The kept block that was released longest ago, kept no longer.
  int TakeOldest();

  KvShape shape_;
  KvLayout layout_;
  size_t tile_bytes_;
  size_t block_bytes_;
  Buffer<char> memory_;
  std::vector<int> references_;  // [blocks]
  std::vector<int> free_;        // and not known; taken from the back
  KnownBlocks known_;
  std::vector<Link> ring_;  // [blocks + 1]
  int kept_ = 0;
  const int most_kept_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_
