#include "model/transformer/kv_cache.h"

#include <cassert>
#include <cstring>
#include <utility>

namespace trivium {

KvCache::KvCache(std::vector<KvShape> shapes, KvLayout layout,
                 std::span<const StateShape> states, int blocks, int max_cached)
    : shapes_(std::move(shapes)),
      layout_(std::move(layout)),
      block_bytes_(BlockBytes(layout_, states)),
      states_(states, block_bytes_),
      memory_(block_bytes_ * blocks),
      references_(blocks, 0),
      prefix_index_(blocks, layout_.groups(), states_.blocks()),
      ring_(blocks + 1),
      max_cached_(max_cached) {
  ring_[blocks] = {blocks, blocks};
  free_.reserve(blocks);
  // Allocate low blocks first, so that a lightly used cache touches little
  // memory.
  for (int block = blocks - 1; block >= 0; --block) free_.push_back(block);
}

int KvCache::Allocate() {
  assert(free_blocks() > 0);
  int block;
  if (!free_.empty()) {
    block = free_.back();
    free_.pop_back();
  } else {
    block = EvictOldest();
  }
  references_[block] = 1;
  return block;
}

void KvCache::Share(int block) {
  if (references_[block]++ == 0) RemoveFromRing(block);
}

void KvCache::Release(int block) {
  assert(references_[block] > 0);
  if (--references_[block] > 0) return;
  if (!prefix_index_.Contains(block)) {
    free_.push_back(block);
  } else {
    AddToRing(block);
    if (cached_ > max_cached_) free_.push_back(EvictOldest());
  }
}

int KvCache::EvictOldest() {
  const int block = ring_.back().next;
  RemoveFromRing(block);
  prefix_index_.Forget(block);
  return block;
}

int KvCache::CopyForWriting(int block) {
  const int copy = Allocate();
  std::memcpy(memory_.data() + block_bytes_ * copy,
              memory_.data() + block_bytes_ * block, block_bytes_);
  Release(block);
  return copy;
}

void KvCache::AddToRing(int block) {
  const int end = total_blocks();
  const int last = ring_[end].previous;
  ring_[block] = {last, end};
  ring_[last].next = block;
  ring_[end].previous = block;
  ++cached_;
}

void KvCache::RemoveFromRing(int block) {
  const auto [previous, next] = ring_[block];
  ring_[previous].next = next;
  ring_[next].previous = previous;
  --cached_;
}

}  // namespace trivium
