#include "model/transformer/kv_cache.h"

#include <cassert>
#include <cstring>

namespace trivium {

KvCache::KvCache(const KvShape& shape, int layers, int blocks)
    : shape_(shape),
      tile_bytes_(KvTileBytes(shape)),
      block_bytes_(BlockBytes(shape, layers)),
      memory_(block_bytes_ * blocks),
      references_(blocks, 0) {
  free_.reserve(blocks);
  // Low blocks first, so that a lightly used cache touches little memory.
  for (int block = blocks - 1; block >= 0; --block) free_.push_back(block);
}

int KvCache::Take() {
  assert(!free_.empty());
  const int block = free_.back();
  free_.pop_back();
  references_[block] = 1;
  return block;
}

void KvCache::Release(int block) {
  assert(references_[block] > 0);
  if (--references_[block] == 0) free_.push_back(block);
}

int KvCache::CopyForWriting(int block) {
  const int copy = Take();
  std::memcpy(memory_.data() + block_bytes_ * copy,
              memory_.data() + block_bytes_ * block, block_bytes_);
  Release(block);
  return copy;
}

}  // namespace trivium
