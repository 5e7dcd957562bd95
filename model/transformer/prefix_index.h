#ifndef TRIVIUM_MODEL_TRANSFORMER_PREFIX_INDEX_H_
#define TRIVIUM_MODEL_TRANSFORMER_PREFIX_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/hash/hash.h"
#include "model/engine.h"

namespace trivium {

// Finds full blocks by their contents. A node is kTileTokens consecutive
// tokens; it has one block in each group of layers (kv_layout.h). A node's
// key is its tokens and the id of the node before it. A first node's key
// is its tokens and a context key: all else that the contents depend on (the
// source's input and a salt).
//
// An id is never reused, so it identifies a node's whole prefix. When a
// node is forgotten, its successors can no longer be found, and they are
// never mistaken for successors of an equal node that is registered later. A
// node is forgotten with the last of its blocks. Keys are compared in full,
// not only by hash. Not thread-safe.
//
// A node may also have the state after its last token (state_layout.h), in
// blocks of its own. A state's blocks are registered together, and forgotten
// one by one; a state that lacks one is of no use.
class PrefixIndex {
 public:
  using Id = uint64_t;
  static constexpr Id kNone = 0;
  static constexpr int kNoBlock = -1;

  struct Node {
    Id id = kNone;
    std::vector<int> blocks;  // [groups]; kNoBlock: not registered
    std::vector<int> state;   // [state blocks], as above, or empty

    bool state_complete() const {
      return std::find(state.begin(), state.end(), kNoBlock) == state.end();
    }
  };

  // Returns what a prefix depends on besides its tokens.
  static std::string ContextKey(const EncoderInput& input,
                                std::string_view salt);

  PrefixIndex(int blocks, int groups, int state_blocks = 0)
      : groups_(groups), state_blocks_(state_blocks), entries_(blocks) {}

  // Returns the node of `tokens` after node `before`, or null. If
  // `before` is kNone, it is a first node, with `context_key`. The result is
  // valid until the next Register or Forget.
  const Node* Find(Id before, std::string_view context_key,
                   std::span<const int32_t> tokens);
  // Registers `blocks` [groups] as the blocks of a node. Skips kNoBlock and
  // groups for which another block is registered, and does the same with
  // `state` [state blocks], if it is not empty. Returns the node's id, or
  // kNone if it has no block.
  Id Register(Id before, std::string_view context_key,
              std::span<const int32_t> tokens, std::span<const int> blocks,
              std::span<const int> state = {});
  bool Contains(int block) const { return entries_[block].node != nullptr; }
  // Removes a block whose contents are about to change.
  void Forget(int block);

 private:
  // absl::node_hash_map is broken once a node finds no memory.
  using Nodes = std::unordered_map<std::string, Node, absl::Hash<std::string>>;
  struct Entry {
    Nodes::value_type* node = nullptr;
    int group = 0;  // from groups_ on: an index in Node::state
  };

  const std::string& KeyOf(Id before, std::string_view context_key,
                           std::span<const int32_t> tokens);

  // Makes `block` the one at `place` of a node's blocks or state, unless it
  // has one there. `group` is as in Entry.
  void Put(Nodes::value_type* node, int group, int block, int* place);

  const size_t groups_;
  const size_t state_blocks_;
  Id last_id_ = kNone;
  std::vector<Entry> entries_;  // [blocks]
  Nodes nodes_;
  std::string key_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_PREFIX_INDEX_H_
