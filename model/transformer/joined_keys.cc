// The kernel sees one range of keys, so a call's tiles are those of the other
// keys and those of the tokens near the query. What the query does not see in
// between (the rest of the last tile of other keys, and tokens before its
// window) gets a bias that leaves no weight. So its numbers must be finite:
// whoever stores the other keys fills the unused slots with zeros.
#include "model/transformer/joined_keys.h"

#include <algorithm>
#include <cstddef>

#include "model/transformer/attention.h"

namespace trivium {
namespace {

// The exponential of any score below this bias is 0 beside another's.
constexpr float kUnseen = -1e30f;

}  // namespace

NearKeys JoinedKeys::Join(const AttentionTask& task,
                          const AttentionGroup& group, int position, bool own,
                          AttentionCall* call) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const int padded = static_cast<int>(tiles.size()) * kTileTokens;
  NearKeys near;
  near.begin = position - std::min(position, geometry.look_back);
  near.end =
      std::min(group.keys - 1 - position, geometry.look_ahead) + position + 1;
  const int first =
      std::max(near.begin / kTileTokens * kTileTokens, own ? padded : 0);
  near.place = padded + near.begin - first;
  for (int i = first; i < near.end; i += kTileTokens) {
    tiles.push_back(task.tiles[group.blocks[i / kTileTokens]]);
  }
  call->tiles = tiles.data();
  call->keys = padded + near.end - first;
  call->queries = 1;
  call->position = 0;
  call->look_back = call->look_ahead = kAllKeys;
  return near;
}

float* JoinedKeys::HideKeys(int heads, AttentionCall* call) {
  // The kernel reads a tile beyond either end.
  const size_t stride = PaddedKeys(call->keys) + 2 * kTileTokens;
  float* const first = bias.Reserve(heads * stride);
  call->bias = first + kTileTokens;
  if (heads == 1) {
    std::fill_n(first, stride, kUnseen);
    call->bias_stride = 0;
  } else {
    const int sharing = heads / call->shape.heads;
    std::fill(first + call->begin_head * sharing * stride,
              first + call->end_head * sharing * stride, kUnseen);
    call->bias_stride = stride;
  }
  return first + kTileTokens;
}

}  // namespace trivium
