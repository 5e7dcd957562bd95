#include "model/transformer/global_keys.h"

#include "model/transformer/attention.h"

namespace trivium {

void GlobalKeys::Resize(const AttentionTask& task) {
  tokens_.clear();
  for (const AttentionGroup& group : task.groups) {
    tokens_.resize(tokens_.size() + group.rows, group.global);
  }
  tile_bytes_ = KvTileBytes(task.tiles.shape);
  tiles_.Reserve(tile_bytes_ * (task.places.back().block + 1));
}

}  // namespace trivium
