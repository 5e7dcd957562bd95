#ifndef TRIVIUM_MODEL_KERNELS_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_ATTENTION_H_

#include <cstddef>

#include "model/kernels/kv_tile.h"

namespace trivium {

// Scaled dot-product attention of all heads for several queries over the same
// keys (Vaswani et al. 2017):
//   weights = softmax(scale * q K^T), out = weights V
// Every query's bits depend on its own q and the keys alone: sums run over
// dimensions and keys in one fixed order, whatever `queries` is. Over int8
// tiles queries and weights are quantized, too (attention_int8.cc).
struct AttentionCall {
  KvShape shape;
  const char* const* tiles;  // [ceil(keys / kTileTokens)]
  int keys;                  // at least 1
  int queries;
  const float* query;   // [queries] rows of heads * head_size floats ...
  size_t query_stride;  // ... this far apart
  float scale;
  float* out;         // [queries] rows of heads * head_size floats ...
  size_t out_stride;  // ... this far apart; may be the queries
  // Scratch of WeightsSize() floats.
  float* weights;
  // Leaves the attention weights in `weights`, as
  // [heads, queries, PaddedKeys(keys)].
  bool keep_weights;
};
void Attend(const AttentionCall& call);

// Heads whose weights are under way at once: several for a few queries, whose
// sums are short of independent work; one for many, which fill the cache.
inline constexpr int kHeadsAtOnce = 8;
constexpr int HeadsAtOnce(int queries) {
  return queries < 4 ? kHeadsAtOnce : 1;
}

// Floats of the weights that are under way, or of all that are kept.
constexpr size_t PlainWeightsSize(const KvShape& shape, int queries, int keys,
                                  bool keep) {
  const size_t heads = keep ? shape.heads : HeadsAtOnce(queries);
  return heads * queries * PaddedKeys(keys);
}

// Floats that AttentionCall::weights has room for: the weights and, for int8
// tiles, queries and weights in bytes.
constexpr size_t WeightsSize(const KvShape& shape, int queries, int keys,
                             bool keep) {
  const size_t bytes = shape.type == KvType::kInt8
                           ? 3 * PaddedKeys(keys) + 2 * (shape.head_size + 15)
                           : 0;
  return PlainWeightsSize(shape, queries, keys, keep) + bytes;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_H_
