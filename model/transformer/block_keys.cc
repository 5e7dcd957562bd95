#include "model/transformer/block_keys.h"

#include <algorithm>

#include "base/status.h"
#include "model/transformer/attention.h"

namespace trivium {
absl::Status BlockKeysRunner::Run(const AttentionTask& task, Rows* rows,
                                  Workspace* workspace) {
  const Attention& weights = task.weights;
  const AttentionGeometry& geometry = weights.geometry;
  const int size = weights.blocks->size, d_model = rows->d_model();
  const int width = geometry.query_width(), kv_width = geometry.kv_width();
  groups_.clear();
  blocks_.clear();
  int tiles = 0;
  for (const AttentionGroup& group : task.groups) {
    const int blocks = group.keys / size;
    groups_.push_back({blocks, tiles});
    for (int i = 0; i < blocks; ++i) {
      // The last block has the tokens that are left over, too.
      const int end = i + 1 < blocks ? (i + 1) * size : group.keys;
      blocks_.push_back({group.first + i * size, group.first + end,
                         tiles + i / kTileTokens, i % kTileTokens});
    }
    tiles += PaddedKeys(blocks) / kTileTokens;
  }
  const int count = static_cast<int>(blocks_.size());
  tile_bytes_ = KvTileBytes(task.tiles.shape);
  tiles_.Reserve(tile_bytes_ * tiles);
  if (count == 0) return absl::OkStatus();
  input_.Resize(count, d_model);
  const AlignedVector<float>& smoothing = weights.projection.smoothing();
  const std::optional<Norm>& before = weights.norms.before;
  workspace->team().Run(
      count, /*least=*/1, [&](int begin, int end, int thread) {
        float* const sum = workspace->thread(thread).row.Reserve(2 * d_model);
        float* const x = sum + d_model;
        for (int i = begin; i < end; ++i) {
          std::fill_n(sum, d_model, 0.0f);
          for (int row = blocks_[i].first; row < blocks_[i].end; ++row) {
            const float* read = rows->x(row);
            if (before.has_value()) {
              before->Apply(read, x);
              read = x;
            }
            AddRow({.f32 = read, .n = d_model}, sum);
          }
          weights.blocks->norm.Apply(sum, sum);
          if (!smoothing.empty()) ScaleRow(sum, smoothing.data(), d_model, sum);
          input_.Set(i, sum);
        }
      });
  TRIVIUM_RETURN_IF_ERROR(weights.projection.Forward(
      input_, count, workspace,
      [&](int i, const auto& product, float* y) {
        FinishRow(product.Columns(width, 2 * kv_width), y);
        StoreKeyValue(task.tiles.shape, y, y + kv_width, blocks_[i].slot,
                      Tile(blocks_[i].tile));
      },
      [&](int i) { return blocks_[i].slot % kSlotsTogether == 0; }));
  zeros_.resize(2 * kv_width);
  for (const auto& [blocks, first_tile] : groups_) {
    for (int i = blocks; i < PaddedKeys(blocks); ++i) {
      StoreKeyValue(task.tiles.shape, zeros_.data(), zeros_.data() + kv_width,
                    i % kTileTokens, Tile(first_tile + i / kTileTokens));
    }
  }
  return absl::OkStatus();
}

NearKeys BlockKeysRunner::Prepare(const AttentionTask& task, size_t group,
                                  int position, JoinedKeys* joined,
                                  AttentionCall* call) const {
  const AttentionGeometry& geometry = task.weights.geometry;
  const auto [blocks, first_tile] = groups_[group];
  joined->tiles.clear();
  for (int i = 0; i < PaddedKeys(blocks) / kTileTokens; ++i) {
    joined->tiles.push_back(tiles_.data() + (first_tile + i) * tile_bytes_);
  }
  const NearKeys near = joined->Join(task, task.groups[group], position,
                                     /*own=*/false, call);
  const int own = std::min(position / task.weights.blocks->size, blocks - 1);
  float* const bias = joined->HideKeys(geometry.heads, call);
  const int sharing = geometry.heads / geometry.kv_heads;
  for (int head = call->begin_head * sharing; head < call->end_head * sharing;
       ++head) {
    float* const to = bias + head * call->bias_stride;
    const float* const of_blocks = task.relative->block_bias(head);
    for (int i = 0; i < blocks; ++i) to[i] = of_blocks[i - own];
    const float* const of_tokens = task.relative->bias(task.layer) +
                                   head * task.relative->bias_stride() -
                                   position;
    std::copy(of_tokens + near.begin, of_tokens + near.end, to + near.place);
  }
  return near;
}

}  // namespace trivium
