#ifndef TRIVIUM_MODEL_TRANSFORMER_GLOBAL_KEYS_H_
#define TRIVIUM_MODEL_TRANSFORMER_GLOBAL_KEYS_H_

#include <cstddef>
#include <vector>

#include "model/kernels/buffer.h"

namespace trivium {

struct AttentionTask;

// The keys and values that global tokens see (GlobalAttentionDescription), in
// tiles of the same numbers as the layer's own. Each worker has one.
class GlobalKeys {
 public:
  // Makes room for those of the task's rows.
  void Resize(const AttentionTask& task);
  // Returns how many tokens of the row's source are global. If there are none,
  // nothing reads the row's global keys.
  int tokens(int row) const { return tokens_[row]; }
  char* tile(int block) const { return tiles_.data() + block * tile_bytes_; }

 private:
  std::vector<int> tokens_;  // [rows]
  size_t tile_bytes_ = 0;
  Buffer<char> tiles_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_GLOBAL_KEYS_H_
