// The layout of int8 keys and values in a tile. Compiled once for each target,
// hence the toggled guard.
//
// Every token's key and value has one scale per head:
//   k ~ scale * q, scale = max|k| / 127, q in [-127, 127].
// Four bytes that a dot product adds up form one lane of 32 bits, so that one
// instruction multiplies 64 pairs of unsigned and signed bytes and adds them to
// 16 sums. Keys are the unsigned bytes, q + kKeyZero; values are signed. Each
// head has
//   keys     [quads of dimensions][kTileTokens lanes: 4 dimensions]
//   key_scale    [kTileTokens]
//   value_scale  [kTileTokens]
//   values   [quads of tokens][groups of 16 dimensions][16 lanes: 4 tokens]
// Dimensions are padded to whole quads (keys: with arbitrary bytes) and groups
// (values: with zeros).
#if defined(TRIVIUM_MODEL_KERNELS_KV_TILE_INT8_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_KV_TILE_INT8_INL_H_
#undef TRIVIUM_MODEL_KERNELS_KV_TILE_INT8_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_KV_TILE_INT8_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/kv_tile.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kKeyZeroLog2 = 7;
constexpr int kKeyZero = 1 << kKeyZeroLog2;
constexpr int kQuad = 4;
// Lanes and bytes of a group of quads.
constexpr int kQuadLanes = 16;
constexpr int kGroupBytes = kQuad * kQuadLanes;
static_assert(kQuadLanes == kTileTokens);

constexpr int Quads(int size) { return (size + kQuad - 1) / kQuad; }
constexpr int DimensionGroups(int head_size) {
  return (head_size + kQuadLanes - 1) / kQuadLanes;
}

// Pointers to one head of a tile. A tile's first half is what scores read, for
// all heads (keys and their scales); the second is what outputs read (values
// and their scales). So each half is read from begin to end.
template <class Byte>
struct Int8Head {
  Int8Head(const KvShape& shape, Byte* tile, int head) {
    const size_t key_bytes = KeyBytes(shape.head_size);
    keys = tile + head * key_bytes;
    key_scale = keys + Quads(shape.head_size) * kGroupBytes;
    if (shape.values_are_keys) {
      value_scale = key_scale;
      values = nullptr;
      return;
    }
    value_scale = tile + shape.heads * key_bytes +
                  head * ValueBytes(kTileTokens, shape.head_size);
    values = value_scale + kTileTokens * sizeof(float);
  }

  static constexpr size_t KeyBytes(int head_size) {
    return Quads(head_size) * kGroupBytes + kTileTokens * sizeof(float);
  }
  // Bytes of the first `tokens` values of a tile.
  static constexpr size_t ValueBytes(int tokens, int head_size) {
    return kTileTokens * sizeof(float) +
           Quads(tokens) * DimensionGroups(head_size) * kGroupBytes;
  }

  Byte* keys;
  Byte* key_scale;    // floats
  Byte* value_scale;  // floats; key_scale if values are keys
  Byte* values;       // null if values are keys
};

// Prefetches [p, p + bytes) into the L2 cache.
HWY_INLINE void Fetch(const char* p, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < bytes; at += kLine) {
    __builtin_prefetch(p + at, /*rw=*/0, /*locality: the second cache*/ 2);
  }
}

struct Quantized {
  float scale;
  int32_t sum;  // sum of the bytes
};

// Quantizes x [n]. Calls store(i, the bytes from i on as 32-bit lanes) up to
// whole groups of dimensions, with zeros beyond n.
template <class Store>
HWY_INLINE Quantized QuantizeSymmetric(const float* HWY_RESTRICT x, int n,
                                       Store store) {
  const F32 d;
  const I32 d32;
  auto most = hn::Zero(d);
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    most = hn::Max(most, hn::Abs(some.Load(d, x + i)));
  });
  const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  const auto inverse = hn::Set(d, largest > 0 ? 127 / largest : 0.0f);
  auto sum = hn::Zero(d32);
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < DimensionGroups(n) * kQuadLanes; i += lanes) {
    const int left = n - i;
    const auto v = left >= lanes ? hn::LoadU(d, x + i)
                                 : LoadSome(d, x + i, left > 0 ? left : 0);
    const auto q = hn::NearestInt(hn::Mul(v, inverse));
    sum = hn::Add(sum, q);
    store(i, q);
  }
  // Finite numbers stay far below this bound; NaN could overflow without it.
  const auto most_sum = hn::Set(d32, 1 << 26);
  sum = hn::Max(hn::Min(sum, most_sum), hn::Neg(most_sum));
  return {largest / 127, hn::GetLane(hn::SumOfLanes(d32, sum))};
}

// Prefetches a head's keys, or the values of the first `tokens`, into the L2
// cache.
HWY_INLINE void FetchInt8Keys(const KvShape& shape, const char* tile,
                              int head) {
  const Int8Head<const char> at(shape, tile, head);
  Fetch(at.keys, at.KeyBytes(shape.head_size));
}
HWY_INLINE void FetchInt8Values(const KvShape& shape, const char* tile,
                                int head, int tokens) {
  const Int8Head<const char> at(shape, tile, head);
  Fetch(at.value_scale, at.ValueBytes(tokens, shape.head_size));
}

HWY_INLINE void PutFloat(float number, int slot, char* array) {
  std::memcpy(array + slot * sizeof(number), &number, sizeof(number));
}

// Stores one token's key of one head in `slot` of the tile.
HWY_INLINE void StoreInt8Key(const float* key, int head_size, int slot,
                             const Int8Head<char>& head) {
  const I32 d32;
  const hn::Rebind<uint8_t, F32> d8;
  const int lanes = static_cast<int>(hn::Lanes(d32));
  const Quantized k =
      QuantizeSymmetric(key, head_size, [&](int i, auto q) HWY_ATTR {
        HWY_ALIGN uint8_t bytes[kQuadLanes];
        const auto shifted = hn::Add(q, hn::Set(d32, kKeyZero));
        hn::StoreU(hn::DemoteTo(d8, shifted), d8, bytes);
        for (int j = 0; j < lanes && i + j < head_size; j += kQuad) {
          std::memcpy(head.keys + (i + j) / kQuad * kGroupBytes + slot * kQuad,
                      bytes + j, kQuad);
        }
      });
  PutFloat(k.scale, slot, head.key_scale);
}

// Stores its value, whose bytes are interleaved with those of three adjacent
// slots.
HWY_INLINE void StoreInt8Value(const float* value, int head_size, int slot,
                               const Int8Head<char>& head) {
  const I32 d32;
  int32_t* quads = reinterpret_cast<int32_t*>(head.values) +
                   slot / kQuad * DimensionGroups(head_size) * kQuadLanes;
  const int shift = slot % kQuad * 8;
  const auto mask = hn::Set(d32, 0xff);
  const auto neighbours = hn::Not(hn::ShiftLeftSame(mask, shift));
  const Quantized v =
      QuantizeSymmetric(value, head_size, [&](int i, auto q) HWY_ATTR {
        const auto byte = hn::ShiftLeftSame(hn::And(q, mask), shift);
        const auto kept = hn::And(hn::LoadU(d32, quads + i), neighbours);
        hn::StoreU(hn::Or(kept, byte), d32, quads + i);
      });
  PutFloat(v.scale, slot, head.value_scale);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_KV_TILE_INT8_INL_H_
