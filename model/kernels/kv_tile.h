#ifndef TRIVIUM_MODEL_KERNELS_KV_TILE_H_
#define TRIVIUM_MODEL_KERNELS_KV_TILE_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Keys and values are stored in tiles of this many tokens.
inline constexpr int kTileTokens = 16;

enum class KvType {
  kF32,
  kBf16,
  kInt8,  // one scale per token and head
};

// The keys and values of one attention layer.
struct KvShape {
  KvType type;
  int heads;
  int head_size;
  // True: a value is its key and is not stored beside it (latent attention).
  bool values_are_keys = false;
};

// Returns the bytes of a tile: the keys and values of kTileTokens tokens, for
// all heads. Its layout is private to the kernels (kv_tile-inl.h).
size_t KvTileBytes(const KvShape& shape);

// Writes one token's key and value, [heads * head_size] each, into a slot of a
// tile, rounded to nearest even. Does not read a value that is the key.
void StoreKeyValue(const KvShape& shape, const float* key, const float* value,
                   int slot, char* tile);

// Reads one head of a token's key and value, [head_size] each, from a slot of a
// tile. Slow and plain, for what people look at.
void LoadKeyValue(const KvShape& shape, const char* tile, int slot, int head,
                  float* key, float* value);

// The values of this many adjacent slots, from a multiple of it on, are
// interleaved. Threads must not store to such slots of one tile concurrently.
inline constexpr int kSlotsTogether = 4;

// Prefetches the first `tokens` slots of a tile that is about to be read or
// written, if int8.
void FetchTile(const KvShape& shape, int tokens, const char* tile);

// Returns `keys` rounded up to whole tiles.
constexpr int PaddedKeys(int keys) {
  return (keys + kTileTokens - 1) / kTileTokens * kTileTokens;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_KV_TILE_H_
