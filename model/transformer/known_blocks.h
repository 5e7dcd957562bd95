#ifndef TRIVIUM_MODEL_TRANSFORMER_KNOWN_BLOCKS_H_
#define TRIVIUM_MODEL_TRANSFORMER_KNOWN_BLOCKS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "model/engine.h"

namespace trivium {

// Which full blocks hold what. A block is known by its tokens and by what came
// before: the id of the block before it or, of a first block, all that its
// contents depend on besides tokens (the source's input and a salt).
//
// Ids are given once and never again, so that an id names a block's whole
// past: where an earlier block was forgotten, what followed it is not found
// any more, and never mistaken for what follows an equal block that came
// later. Everything is compared; hashes only lead the way. Not thread-safe.
class KnownBlocks {
 public:
  using Id = uint64_t;
  static constexpr Id kNone = 0;

  // What a beginning depends on besides its tokens.
  static std::string Past(const EncoderInput& input, std::string_view salt);

  explicit KnownBlocks(int blocks) : known_(blocks) {}

  // The block with these tokens after block `before`, or -1. Where `before` is
  // kNone it is a first block, of `past`.
  int Find(Id before, std::string_view past, std::span<const int32_t> tokens);
  // From now on `block` is known as that, unless another one is.
  void Add(int block, Id before, std::string_view past,
           std::span<const int32_t> tokens);
  // kNone where the block is not known.
  Id id(int block) const { return known_[block].id; }
  // The block's contents are going to change.
  void Forget(int block);

 private:
  struct Known {
    Id id = kNone;
    std::string key;
  };

  const std::string& KeyOf(Id before, std::string_view past,
                           std::span<const int32_t> tokens);

  Id last_id_ = kNone;
  std::vector<Known> known_;  // [blocks]
  absl::flat_hash_map<std::string, int> block_by_key_;
  std::string key_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KNOWN_BLOCKS_H_
