#ifndef TRIVIUM_MODEL_KERNELS_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_ATTENTION_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Keys and values are kept in tiles of this many tokens.
inline constexpr int kTileTokens = 16;

enum class KvType { kF32, kBf16 };

// One head's keys and values of kTileTokens tokens: keys transposed,
// [head_size][kTileTokens], so that one vector holds one dimension of all
// tokens; values [kTileTokens][head_size].
struct KvTile {
  void* keys;
  void* values;
};

// Bytes of a tile's keys, and of its values.
size_t KvTileBytes(KvType type, int head_size);

// Writes one token's key and value, [head_size] each, into a tile's slot
// (rounded to nearest even for bf16).
void StoreKeyValue(KvType type, int head_size, const float* key,
                   const float* value, int slot, KvTile tile);

// Scaled dot-product attention of one head for several queries over the same
// keys (Vaswani et al. 2017):
//   weights = softmax(scale * q K^T), out = weights V
// Every query's bits depend on its own q and the keys alone: sums run over
// dimensions and keys in one fixed order, whatever `queries` is.
struct AttentionCall {
  KvType type;
  int head_size;
  const KvTile* tiles;  // [ceil(keys / kTileTokens)]
  int keys;             // at least 1
  int queries;
  const float* query;   // [queries] rows of head_size floats ...
  size_t query_stride;  // ... this far apart
  float scale;
  float* out;         // [queries] rows of head_size floats ...
  size_t out_stride;  // ... this far apart
  // Scratch, [queries][keys rounded up to tiles]; holds the attention weights
  // afterwards.
  float* weights;
};
void Attend(const AttentionCall& call);

// Row length of AttentionCall::weights.
constexpr int PaddedKeys(int keys) {
  return (keys + kTileTokens - 1) / kTileTokens * kTileTokens;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_H_
