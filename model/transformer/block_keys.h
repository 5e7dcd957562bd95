#ifndef TRIVIUM_MODEL_TRANSFORMER_BLOCK_KEYS_H_
#define TRIVIUM_MODEL_TRANSFORMER_BLOCK_KEYS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/attention.h"
#include "model/kernels/buffer.h"
#include "model/transformer/joined_keys.h"
#include "model/transformer/linear.h"
#include "model/transformer/rows.h"
#include "model/transformer/workspace.h"

namespace trivium {

struct AttentionTask;

// Makes the keys and values of blocks (BlockKeysDescription), and lists what a
// query sees: its source's blocks, then the tokens near it. Each worker has
// one.
class BlockKeysRunner {
 public:
  explicit BlockKeysRunner(const Formats& formats) : input_(formats) {}

  // Computes the keys and values of all groups' blocks; x of `rows` is what
  // attention reads, before its norm.
  absl::Status Run(const AttentionTask& task, Rows* rows, Workspace* workspace);

  // Sets the keys of a call of one query, that of `position` in a group, and
  // their biases, for the call's heads.
  NearKeys Prepare(const AttentionTask& task, size_t group, int position,
                   JoinedKeys* joined, AttentionCall* call) const;

 private:
  struct Group {
    int blocks;
    int first_tile;
  };
  // Rows [first, end), and where their key and value are stored.
  struct Block {
    int first;
    int end;
    int tile;
    int slot;
  };

  char* Tile(int tile) { return tiles_.data() + tile * tile_bytes_; }

  std::vector<Group> groups_;
  std::vector<Block> blocks_;  // of all groups
  Operand input_;              // [blocks, d_model]
  size_t tile_bytes_ = 0;
  Buffer<char> tiles_;
  std::vector<float> zeros_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_BLOCK_KEYS_H_
