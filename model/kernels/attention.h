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
// tiles queries and weights are quantized, too (attention_int8.cc); over bf16
// tiles they may be rounded (RoundsQueries).
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
  // Those of the next call, which begin to come out of memory if int8.
  const char* const* next_tiles = nullptr;
  int next_keys = 0;
};
void Attend(const AttentionCall& call);

// Whether Attend rounds queries and weights to bf16, too: over bf16 tiles,
// where the CPU multiplies bf16, at twice the rate of f32.
bool RoundsQueries(KvType type);

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
// and bf16 tiles, those of the queries and weights under way as these are.
constexpr size_t WeightsSize(const KvShape& shape, int queries, int keys,
                             bool keep) {
  const size_t plain = PlainWeightsSize(shape, queries, keys, keep);
  if (shape.type == KvType::kF32) return plain;
  // Four queries' weights in two bytes each, as both types need, and for int8
  // one query's in floats before that.
  const size_t converted_weights = 3 * PaddedKeys(keys);
  // At most kHeadsAtOnce queries, two bytes a dimension, in groups of 16.
  const size_t converted_queries = kHeadsAtOnce / 2 * (shape.head_size + 15);
  return plain + converted_weights + converted_queries;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_H_
