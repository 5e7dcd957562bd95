#include "model/weights/packed_hash.h"

#include <algorithm>

// Compiles the functions into this file alone.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace trivium {

struct BlockHashes::State {
  XXH3_state_t xxh;
};

uint64_t HashOf(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void HashOfText(std::string_view text, uint64_t* high, uint64_t* low) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  *high = hash.high64;
  *low = hash.low64;
}

BlockHashes::BlockHashes(size_t block)
    : block_(block), state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh);
}

BlockHashes::~BlockHashes() = default;

void BlockHashes::Add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t some = std::min(block_ - in_block_, bytes.size());
    XXH3_64bits_update(&state_->xxh, bytes.data(), some);
    bytes = bytes.subspan(some);
    in_block_ += some;
    if (in_block_ < block_) return;
    Finish();
  }
}

const std::vector<uint64_t>& BlockHashes::Finish() {
  if (in_block_ == 0) return hashes_;
  hashes_.push_back(XXH3_64bits_digest(&state_->xxh));
  XXH3_64bits_reset(&state_->xxh);
  in_block_ = 0;
  return hashes_;
}

}  // namespace trivium
