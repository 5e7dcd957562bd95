#ifndef TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_
#define TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_

#include <cstdint>
#include <vector>

#include "model/kernels/attention.h"
#include "model/kernels/buffer.h"

namespace trivium {

// A sequence's blocks, in order of its tokens.
using BlockTable = std::vector<int>;

// Keys and values of all decoder layers in blocks of kTileTokens tokens, for
// self-attention (a table a hypothesis; hypotheses share blocks by reference)
// and for cross-attention (a table a source). Not thread-safe.
//
// A block is a tile (model/kernels/attention.h) for each layer.
class KvCache {
 public:
  KvCache(const KvShape& shape, int layers, int blocks);

  static size_t BlockBytes(const KvShape& shape, int layers) {
    return KvTileBytes(shape) * layers;
  }

  int total_blocks() const { return static_cast<int>(references_.size()); }
  int free_blocks() const { return static_cast<int>(free_.size()); }

  // The caller knows that a block is free.
  int Take();
  void Share(int block) { ++references_[block]; }
  void Release(int block);
  bool shared(int block) const { return references_[block] > 1; }
  int references(int block) const { return references_[block]; }
  // A block of the caller's own with the same contents; its reference to
  // `block` moves to the copy.
  int CopyForWriting(int block);

  char* Tile(int block, int layer) const {
    return memory_.data() + block_bytes_ * block + tile_bytes_ * layer;
  }

  const KvShape& shape() const { return shape_; }

 private:
  KvShape shape_;
  size_t tile_bytes_;
  size_t block_bytes_;
  Buffer<char> memory_;
  std::vector<int> references_;  // [blocks]
  std::vector<int> free_;        // taken from the back
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_
