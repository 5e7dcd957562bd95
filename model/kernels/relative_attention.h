#ifndef TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_

#include <cstddef>

#include "model/kernels/kv_tile.h"

namespace trivium {

// What a head's scores take from the distance of query i and key j, by column
// c = j - i + positions - 1, where `positions` is the most tokens there may be.
// Columns of neighbouring keys are neighbours, so a tile of keys reads them as
// vectors. Any table may be null.
struct RelativeTables {
  const float* key = nullptr;    // K [head_size, columns], rows `stride` apart
  const float* query = nullptr;  // Q, likewise
  size_t stride = 0;
  int positions = 0;
};

// Columns of a table: a tile may end behind the last key. An odd number of
// cache lines, so that neighbouring rows fall into different sets.
constexpr size_t RelativeColumns(int positions) {
  const size_t lines =
      (2 * static_cast<size_t>(positions) - 1 + 2 * kTileTokens - 2) /
      kTileTokens;
  return (lines | 1) * kTileTokens;
}

// Attention of one head inside one sequence, whose scores also depend on how
// far query i and key j are apart (DeBERTa, He et al. 2020):
//   score(i, j) = scale * (q_i . k_j + q_i . K_c + k_j . Q_c)
//   weights = softmax(score), out = weights V
// in f32 and in an order that depends on the sequence alone.
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
  // Scratch of RelativeScratchSize() floats.
  float* scratch;
  float* weights;  // the attention map [tokens, tokens] goes here, or null
};
void AttendRelative(const RelativeAttentionCall& call);

// Most queries whose scores are under way at once.
inline constexpr int kRelativeQueries = 8;

// Floats of the scratch for a dimension's keys, or for a query's weights. Of
// the queries under way, q begins q keys later than the first, so that one
// vector of a table serves all of them: there is room for what that reads
// before the first key and behind the last. An odd number of lines, as above.
constexpr size_t RelativeKeyStride(int tokens) {
  const size_t floats = tokens + 2 * (kRelativeQueries - 1) + kTileTokens - 1;
  return ((floats + kTileTokens - 1) / kTileTokens | 1) * kTileTokens;
}

constexpr size_t RelativeScratchSize(int head_size, int tokens) {
  return RelativeKeyStride(tokens) * (head_size + kRelativeQueries);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_
