#ifndef TRIVIUM_MODEL_TRANSFORMER_KNOWN_BLOCKS_H_
#define TRIVIUM_MODEL_TRANSFORMER_KNOWN_BLOCKS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "model/engine.h"

namespace trivium {

// Which full blocks hold what. The blocks of a stretch of tokens, one of each
// group of layers (kv_layout.h), are known by its tokens and by what came
// before: the id of the stretch before it or, of a first one, all that the
// contents depend on besides tokens (the source's input and a salt).
//
// Ids are given once and never again, so that an id names a stretch's whole
// past: where an earlier stretch was forgotten, what followed it is not found
// any more, and never mistaken for what follows an equal one that came later.
// A stretch is forgotten with the last of its blocks. Everything is compared;
// hashes only lead the way. Not thread-safe.
class KnownBlocks {
 public:
  using Id = uint64_t;
  static constexpr Id kNone = 0;
  static constexpr int kNoBlock = -1;

  struct Stretch {
    Id id = kNone;
    std::vector<int> blocks;  // [groups]; kNoBlock: not known
  };

  // What a beginning depends on besides its tokens.
  static std::string Past(const EncoderInput& input, std::string_view salt);

  KnownBlocks(int blocks, int groups) : groups_(groups), known_(blocks) {}

  // These tokens after stretch `before`, or null. Where `before` is kNone it is
  // a first one, of `past`. It holds until a block is added or forgotten.
  const Stretch* Find(Id before, std::string_view past,
                      std::span<const int32_t> tokens);
  // From now on `blocks` [groups] are known as that, but for those of which
  // others are, and for kNoBlock. Returns its id; kNone where none is known.
  Id Add(Id before, std::string_view past, std::span<const int32_t> tokens,
         std::span<const int> blocks);
  bool Knows(int block) const { return known_[block].stretch != nullptr; }
  // The block's contents are going to change.
  void Forget(int block);

 private:
  using Stretches = absl::node_hash_map<std::string, Stretch>;
  struct Known {
    Stretches::value_type* stretch = nullptr;
    int group = 0;
  };

  const std::string& KeyOf(Id before, std::string_view past,
                           std::span<const int32_t> tokens);

  const size_t groups_;
  Id last_id_ = kNone;
  std::vector<Known> known_;  // [blocks]
  Stretches stretches_;
  std::string key_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_KNOWN_BLOCKS_H_
