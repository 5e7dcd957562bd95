#ifndef TRIVIUM_MODEL_KERNELS_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_ATTENTION_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Keys and values are kept in tiles of this many tokens.
inline constexpr int kTileTokens = 16;

enum class KvType { kF32, kBf16 };

// The keys and values of one attention layer.
struct KvShape {
  KvType type;
  int heads;
  int head_size;
};

// Bytes of a tile: the keys and values of kTileTokens tokens, all heads. How
// they lie in it is the kernels' own business (see attention.cc).
size_t KvTileBytes(const KvShape& shape);

// Writes one token's key and value, [heads * head_size] each, into a tile's
// slot (rounded to nearest even for bf16).
void StoreKeyValue(const KvShape& shape, const float* key, const float* value,
                   int slot, char* tile);

// Scaled dot-product attention of all heads for several queries over the same
// keys (Vaswani et al. 2017):
//   weights = softmax(scale * q K^T), out = weights V
// Every query's bits depend on its own q and the keys alone: sums run over
// dimensions and keys in one fixed order, whatever `queries` is.
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

// Row length of AttentionCall::weights: keys rounded up to tiles.
constexpr int PaddedKeys(int keys) {
  return (keys + kTileTokens - 1) / kTileTokens * kTileTokens;
}

// Heads whose weights are under way at once: several for a few queries, whose
// sums are short of independent work; one for many, which fill the cache.
inline constexpr int kHeadsAtOnce = 8;
constexpr int HeadsAtOnce(int queries) {
  return queries < 4 ? kHeadsAtOnce : 1;
}

// Floats that AttentionCall::weights has room for.
constexpr size_t WeightsSize(int heads, int queries, int keys, bool keep) {
  return static_cast<size_t>(keep ? heads : HeadsAtOnce(queries)) * queries *
         PaddedKeys(keys);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_H_
