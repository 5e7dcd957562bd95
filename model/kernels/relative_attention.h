#ifndef TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_

#include <cstddef>

#include "model/kernels/kv_tile.h"

namespace trivium {

// A head's tables of relative positions. Their column for query i and key j is
// c = j - i + positions - 1, where `positions` is the greatest number of
// tokens. Columns of adjacent keys are adjacent, so a tile of keys reads them
// as vectors. Any table may be null.
struct RelativeTables {
  const float* key = nullptr;    // K [head_size, columns], rows `stride` apart
  const float* query = nullptr;  // Q, likewise
  size_t stride = 0;
  int positions = 0;
};

// Returns the columns of a table, with room for a tile that ends after the last
// key. It is an odd number of cache lines, so that adjacent rows fall into
// different cache sets.
constexpr size_t RelativeColumns(int positions) {
  const size_t lines =
      (2 * static_cast<size_t>(positions) - 1 + 2 * kTileTokens - 2) /
      kTileTokens;
  return (lines | 1) * kTileTokens;
}

// Attention of one head within one sequence whose scores also depend on the
// distance of query i and key j (DeBERTa, He et al. 2020):
//   score(i, j) = scale * (q_i . k_j + q_i . K_c + k_j . Q_c)
//   weights = softmax(score), out = weights V
// All in f32, in an order that depends on the sequence alone.
struct RelativeAttentionCall {
  int head_size;
  int tokens;  // at least 1, at most tables.positions
  // [tokens] rows of head_size floats, this far apart.
  const float* query;
  const float* key;
  const float* value;
  size_t stride;
  float scale;
  RelativeTables tables;
  float* out;         // [tokens] rows of head_size floats ...
  size_t out_stride;  // ... this far apart
  // RelativeScratchSize() floats.
  float* scratch;
  float* weights;  // receives the attention map [tokens, tokens], or null
};
void AttendRelative(const RelativeAttentionCall& call);

// The most queries whose scores are computed at once.
inline constexpr int kRelativeQueries = 8;

// Returns the floats of scratch for one dimension's keys, or for one query's
// weights. Query q of those computed at once begins q keys later than the
// first, so that one vector of a table serves all of them: there is room for
// reads before the first key and after the last. It is an odd number of cache
// lines, as above.
constexpr size_t RelativeKeyStride(int tokens) {
  const size_t floats = tokens + 2 * (kRelativeQueries - 1) + kTileTokens - 1;
  return ((floats + kTileTokens - 1) / kTileTokens | 1) * kTileTokens;
}

constexpr size_t RelativeScratchSize(int head_size, int tokens) {
  return RelativeKeyStride(tokens) * (head_size + kRelativeQueries);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_
