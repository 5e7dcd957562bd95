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
// A block is [layers][heads] of {keys [head_size][kTileTokens],
// values [kTileTokens][head_size]}.
class KvCache {
 public:
  KvCache(KvType type, int layers, int heads, int head_size, int blocks);

  static size_t BlockBytes(KvType type, int layers, int heads, int head_size);

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

  KvTile Tile(int block, int layer, int head) const {
    char* at = memory_.data() + block_bytes_ * block +
               2 * tile_bytes_ * (static_cast<size_t>(layer) * heads_ + head);
    return {at, at + tile_bytes_};
  }

  KvType type() const { return type_; }
  int heads() const { return heads_; }
  int head_size() const { return head_size_; }

 private:
  KvType type_;
  int heads_;
  int head_size_;
  size_t tile_bytes_;
  size_t block_bytes_;
  Buffer<char> memory_;
  std::vector<int> references_;  // [blocks]
  std::vector<int> free_;        // taken from the back
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KV_CACHE_H_
