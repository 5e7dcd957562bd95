#ifndef TRIVIUM_MODEL_KERNELS_KV_TILE_H_
#define TRIVIUM_MODEL_KERNELS_KV_TILE_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Keys and values are kept in tiles of this many tokens.
inline constexpr int kTileTokens = 16;

enum class KvType {
  kF32,
  kBf16,
  kInt8,  // with a scale for each token and head
};

// The keys and values of one attention layer.
struct KvShape {
  KvType type;
  int heads;
  int head_size;
};

// Bytes of a tile: the keys and values of kTileTokens tokens, all heads. How
// they lie in it is the kernels' own business (kv_tile-inl.h).
size_t KvTileBytes(const KvShape& shape);

// Writes one token's key and value, [heads * head_size] each, into a tile's
// slot, rounded to nearest even.
void StoreKeyValue(const KvShape& shape, const float* key, const float* value,
                   int slot, char* tile);

// Slots whose values lie between each other's, from a multiple of this on:
// several threads must not store to such slots of one tile at once.
inline constexpr int kSlotsTogether = 4;

// A tile whose first `tokens` slots are soon read or written begins to come out
// of memory, if int8.
void FetchTile(const KvShape& shape, int tokens, const char* tile);

// Keys rounded up to whole tiles.
constexpr int PaddedKeys(int keys) {
  return (keys + kTileTokens - 1) / kTileTokens * kTileTokens;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_KV_TILE_H_
