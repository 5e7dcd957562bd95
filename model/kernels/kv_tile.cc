#include "model/kernels/kv_tile.h"

#include <cstring>

#include "model/weights/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/kv_tile.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/kv_tile-inl.h"
#include "model/kernels/kv_tile_int8-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Stores one token's key: its pairs go to lane `slot` of the tile's rows of
// pairs.
HWY_INLINE void StoreKey(const float* HWY_RESTRICT key, int size, int slot,
                         float* HWY_RESTRICT keys) {
  for (int i = 0; i < size; ++i) keys[i * kTileTokens + slot] = key[i];
  if (size % 2 != 0) keys[size * kTileTokens + slot] = 0;
}
HWY_INLINE void StoreKey(const float* HWY_RESTRICT key, int size, int slot,
                         uint16_t* HWY_RESTRICT keys) {
  HWY_ALIGN uint16_t rounded[kGroupNumbers];
  for (int begin = 0; begin < size; begin += kGroupNumbers) {
    const int count =
        size - begin < kGroupNumbers ? size - begin : kGroupNumbers;
    Bf16Numbers(key + begin, count, rounded);
    if (count % 2 != 0) rounded[count] = 0;
    uint16_t* HWY_RESTRICT to = keys + begin * kTileTokens + 2 * slot;
    for (int i = 0; i < count; i += 2) {
      std::memcpy(to + i * kTileTokens, rounded + i, sizeof(uint32_t));
    }
  }
}

template <class T>
HWY_INLINE void StoreTyped(const KvShape& shape, const float* HWY_RESTRICT key,
                           const float* HWY_RESTRICT value, int slot, T* tile) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int size = shape.head_size;
  const int groups = Groups(size);
  for (int head = 0; head < shape.heads; ++head, key += size, value += size) {
    T* HWY_RESTRICT keys = tile + head * KeyNumbers(size);
    StoreKey(key, size, slot, keys);
    if (shape.values_are_keys) continue;
    T* HWY_RESTRICT pairs = tile + shape.heads * KeyNumbers(size) +
                            head * ValueNumbers(size) +
                            slot / 2 * groups * kGroupNumbers;
    for (int group = 0; group < groups; ++group, pairs += kGroupNumbers) {
      for (int lane = 0; lane < kPairLanes; lane += lanes) {
        const int at = group * kPairLanes + lane;
        const int left = size - at;
        const auto v = left >= lanes
                           ? hn::LoadU(d, value + at)
                           : LoadSome(d, value + at, left > 0 ? left : 0);
        StoreOfPairs(d, v, slot % 2, pairs, lane);
      }
    }
  }
}

void StoreRow(const KvShape& shape, const float* key, const float* value,
              int slot, char* tile) {
  switch (shape.type) {
    case KvType::kF32:
      StoreTyped(shape, key, value, slot, reinterpret_cast<float*>(tile));
      break;
    case KvType::kBf16:
      StoreTyped(shape, key, value, slot, reinterpret_cast<uint16_t*>(tile));
      break;
    case KvType::kInt8:
      for (int head = 0; head < shape.heads; ++head) {
        const int first = head * shape.head_size;
        const Int8Head<char> at(shape, tile, head);
        StoreInt8Key(key + first, shape.head_size, slot, at);
        if (shape.values_are_keys) continue;
        StoreInt8Value(value + first, shape.head_size, slot, at);
      }
      break;
  }
}

// Returns a number of a tile as a float.
HWY_INLINE float ToFloat(float number) { return number; }
HWY_INLINE float ToFloat(uint16_t bf16) { return Bf16ToF32(bf16); }

// The place of number i of a pair group's lane: f32 has the second numbers
// behind the first ones, bf16 beside them.
HWY_INLINE size_t PairPlace(const float*, int lane, int which) {
  return static_cast<size_t>(which) * kPairLanes + lane;
}
HWY_INLINE size_t PairPlace(const uint16_t*, int lane, int which) {
  return 2 * static_cast<size_t>(lane) + which;
}

template <class T>
HWY_INLINE void LoadTyped(const KvShape& shape, const T* tile, int slot,
                          int head, float* key, float* value) {
  const int size = shape.head_size;
  const T* const keys = tile + head * KeyNumbers(size);
  const T* const values = tile + shape.heads * KeyNumbers(size) +
                          head * ValueNumbers(size) +
                          slot / 2 * Groups(size) * kGroupNumbers;
  for (int i = 0; i < size; ++i) {
    key[i] =
        ToFloat(keys[i / 2 * kGroupNumbers + PairPlace(keys, slot, i % 2)]);
    value[i] =
        shape.values_are_keys
            ? key[i]
            : ToFloat(values[i / kPairLanes * kGroupNumbers +
                             PairPlace(values, i % kPairLanes, slot % 2)]);
  }
}

HWY_INLINE float FloatAt(const char* floats, int i) {
  float number;
  std::memcpy(&number, floats + i * sizeof(float), sizeof(float));
  return number;
}

void LoadHead(const KvShape& shape, const char* tile, int slot, int head,
              float* key, float* value) {
  switch (shape.type) {
    case KvType::kF32:
      return LoadTyped(shape, reinterpret_cast<const float*>(tile), slot, head,
                       key, value);
    case KvType::kBf16:
      return LoadTyped(shape, reinterpret_cast<const uint16_t*>(tile), slot,
                       head, key, value);
    case KvType::kInt8:
      break;
  }
  const Int8Head<const char> at(shape, tile, head);
  const float key_scale = FloatAt(at.key_scale, slot);
  const float value_scale = FloatAt(at.value_scale, slot);
  const int groups = DimensionGroups(shape.head_size);
  for (int i = 0; i < shape.head_size; ++i) {
    const char byte =
        at.keys[i / kQuad * kGroupBytes + slot * kQuad + i % kQuad];
    key[i] =
        key_scale * static_cast<float>(static_cast<uint8_t>(byte) - kKeyZero);
    value[i] =
        shape.values_are_keys
            ? key[i]
            : value_scale *
                  static_cast<float>(static_cast<int8_t>(
                      at.values[(slot / kQuad * groups + i / kQuadLanes) *
                                    kGroupBytes +
                                i % kQuadLanes * kQuad + slot % kQuad]));
  }
}

void FetchHeads(const KvShape& shape, int tokens, const char* tile) {
  if (shape.type != KvType::kInt8) return;
  for (int head = 0; head < shape.heads; ++head) {
    FetchInt8Keys(shape, tile, head);
    if (shape.values_are_keys) continue;
    FetchInt8Values(shape, tile, head, tokens);
  }
}

size_t TileBytes(const KvShape& shape) {
  const size_t heads = shape.heads;
  const int size = shape.head_size;
  const bool values = !shape.values_are_keys;
  const size_t numbers = KeyNumbers(size) + (values ? ValueNumbers(size) : 0);
  switch (shape.type) {
    case KvType::kF32:
      return heads * numbers * sizeof(float);
    case KvType::kBf16:
      return heads * numbers * sizeof(uint16_t);
    case KvType::kInt8:
      break;
  }
  return heads * (Int8Head<char>::KeyBytes(size) +
                  (values ? Int8Head<char>::ValueBytes(kTileTokens, size) : 0));
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(StoreRow);
HWY_EXPORT(LoadHead);
HWY_EXPORT(FetchHeads);
HWY_EXPORT(TileBytes);

size_t KvTileBytes(const KvShape& shape) {
  return HWY_DYNAMIC_DISPATCH(TileBytes)(shape);
}

void StoreKeyValue(const KvShape& shape, const float* key, const float* value,
                   int slot, char* tile) {
  HWY_DYNAMIC_DISPATCH(StoreRow)(shape, key, value, slot, tile);
}

void LoadKeyValue(const KvShape& shape, const char* tile, int slot, int head,
                  float* key, float* value) {
  HWY_DYNAMIC_DISPATCH(LoadHead)(shape, tile, slot, head, key, value);
}

void FetchTile(const KvShape& shape, int tokens, const char* tile) {
  HWY_DYNAMIC_DISPATCH(FetchHeads)(shape, tokens, tile);
}

}  // namespace trivium
#endif  // HWY_ONCE
