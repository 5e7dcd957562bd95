#include "model/kernels/attention.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE hn::Vec<F32> LoadKv(F32 d, const float* p) {
  return hn::LoadU(d, p);
}
HWY_INLINE hn::Vec<F32> LoadKv(F32 d, const uint16_t* p) {
  const hn::Rebind<uint16_t, F32> d16;
  const hn::RebindToUnsigned<F32> d32;
  return hn::BitCast(d,
                     hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, p))));
}
HWY_INLINE hn::Vec<F32> LoadSomeKv(F32 d, const float* p, int count) {
  return LoadSome(d, p, count);
}
HWY_INLINE hn::Vec<F32> LoadSomeKv(F32 d, const uint16_t* p, int count) {
  HWY_ALIGN uint16_t some[16] = {};
  for (int i = 0; i < count; ++i) some[i] = p[i];
  return LoadKv(d, some);
}

// Scores of kQueries queries against one vector of a tile's tokens. Even and
// odd dimensions are summed apart: two chains of additions hide more latency
// than one, and the order is the same for every kQueries.
template <int kQueries, class T>
HWY_INLINE void ScoreVector(const AttentionCall& call, const float* query,
                            const T* HWY_RESTRICT keys,
                            float* HWY_RESTRICT scores, size_t stride) {
  const F32 d;
  hn::Vec<F32> even[kQueries], odd[kQueries];
  for (int q = 0; q < kQueries; ++q) even[q] = odd[q] = hn::Zero(d);
  int i = 0;
  for (; i + 2 <= call.head_size; i += 2) {
    const auto key0 = LoadKv(d, keys + i * kTileTokens);
    const auto key1 = LoadKv(d, keys + (i + 1) * kTileTokens);
    for (int q = 0; q < kQueries; ++q) {
      const float* row = query + q * call.query_stride + i;
      even[q] = hn::MulAdd(hn::Set(d, row[0]), key0, even[q]);
      odd[q] = hn::MulAdd(hn::Set(d, row[1]), key1, odd[q]);
    }
  }
  if (i < call.head_size) {
    const auto key = LoadKv(d, keys + i * kTileTokens);
    for (int q = 0; q < kQueries; ++q) {
      even[q] = hn::MulAdd(hn::Set(d, query[q * call.query_stride + i]), key,
                           even[q]);
    }
  }
  const auto scale = hn::Set(d, call.scale);
  for (int q = 0; q < kQueries; ++q) {
    hn::StoreU(hn::Mul(hn::Add(even[q], odd[q]), scale), d,
               scores + q * stride);
  }
}

// weights = softmax(weights) over the first `keys`, zero beyond.
HWY_INLINE void Softmax(int keys, float* HWY_RESTRICT weights) {
  const F32 d;
  const int padded = PaddedKeys(keys);
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = keys; i < padded; ++i) {
    weights[i] = -std::numeric_limits<float>::infinity();
  }
  auto max = hn::LoadU(d, weights);
  for (int i = lanes; i < padded; i += lanes) {
    max = hn::Max(max, hn::LoadU(d, weights + i));
  }
  max = hn::MaxOfLanes(d, max);
  auto sum = hn::Zero(d);
  for (int i = 0; i < padded; i += lanes) {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, weights + i), max));
    sum = hn::Add(sum, e);
    hn::StoreU(e, d, weights + i);
  }
  const auto inverse = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, sum));
  for (int i = 0; i < padded; i += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, weights + i), inverse), d, weights + i);
  }
  for (int i = keys; i < padded; ++i) weights[i] = 0;
}

// out = weights V for kQueries queries and kVectors vectors of dimensions
// from `first`; the last of them may be part of a vector.
template <int kQueries, int kVectors, class T>
HWY_INLINE void WeighValues(const AttentionCall& call, int first,
                            const float* HWY_RESTRICT weights, size_t stride,
                            float* out) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int part = call.head_size - first < kVectors * lanes
                       ? call.head_size - first
                       : kVectors * lanes;
  const int last = part - (kVectors - 1) * lanes;  // of the last vector
  hn::Vec<F32> sum[kQueries][kVectors];
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) sum[q][v] = hn::Zero(d);
  }
  for (int key = 0; key < call.keys; ++key) {
    const T* HWY_RESTRICT row =
        static_cast<const T*>(call.tiles[key / kTileTokens].values) +
        (key % kTileTokens) * call.head_size + first;
    for (int v = 0; v < kVectors; ++v) {
      const auto value = v + 1 < kVectors || last == lanes
                             ? LoadKv(d, row + v * lanes)
                             : LoadSomeKv(d, row + v * lanes, last);
      for (int q = 0; q < kQueries; ++q) {
        sum[q][v] =
            hn::MulAdd(hn::Set(d, weights[q * stride + key]), value, sum[q][v]);
      }
    }
  }
  for (int q = 0; q < kQueries; ++q) {
    float* row = out + q * call.out_stride + first;
    for (int v = 0; v < kVectors; ++v) {
      if (v + 1 < kVectors || last == lanes) {
        hn::StoreU(sum[q][v], d, row + v * lanes);
      } else {
        hn::BlendedStore(sum[q][v], hn::FirstN(d, last), d, row + v * lanes);
      }
    }
  }
}

template <int kQueries, class T>
HWY_INLINE void AttendQueries(const AttentionCall& call, const float* query,
                              float* weights, float* out) {
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  const int padded = PaddedKeys(call.keys);
  for (int first = 0; first < padded; first += kTileTokens) {
    const T* keys = static_cast<const T*>(call.tiles[first / kTileTokens].keys);
    for (int lane = 0; lane < kTileTokens; lane += lanes) {
      ScoreVector<kQueries>(call, query, keys + lane, weights + first + lane,
                            padded);
    }
  }
  for (int q = 0; q < kQueries; ++q) Softmax(call.keys, weights + q * padded);
  int first = 0;
  for (; first + 3 * lanes < call.head_size; first += 4 * lanes) {
    WeighValues<kQueries, 4, T>(call, first, weights, padded, out);
  }
  for (; first < call.head_size; first += lanes) {
    WeighValues<kQueries, 1, T>(call, first, weights, padded, out);
  }
}

template <class T>
HWY_INLINE void AttendTyped(const AttentionCall& call) {
  const size_t padded = PaddedKeys(call.keys);
  int q = 0;
  for (; q + 4 <= call.queries; q += 4) {
    AttendQueries<4, T>(call, call.query + q * call.query_stride,
                        call.weights + q * padded,
                        call.out + q * call.out_stride);
  }
  for (; q < call.queries; ++q) {
    AttendQueries<1, T>(call, call.query + q * call.query_stride,
                        call.weights + q * padded,
                        call.out + q * call.out_stride);
  }
}

void AttendAll(const AttentionCall& call) {
  if (call.type == KvType::kF32) {
    AttendTyped<float>(call);
  } else {
    AttendTyped<uint16_t>(call);
  }
}

void StoreRow(KvType type, int head_size, const float* HWY_RESTRICT key,
              const float* HWY_RESTRICT value, int slot, KvTile tile) {
  if (type == KvType::kF32) {
    float* HWY_RESTRICT keys = static_cast<float*>(tile.keys) + slot;
    float* HWY_RESTRICT values =
        static_cast<float*>(tile.values) + slot * head_size;
    for (int i = 0; i < head_size; ++i) keys[i * kTileTokens] = key[i];
    for (int i = 0; i < head_size; ++i) values[i] = value[i];
  } else {
    uint16_t* HWY_RESTRICT keys = static_cast<uint16_t*>(tile.keys) + slot;
    uint16_t* HWY_RESTRICT values =
        static_cast<uint16_t*>(tile.values) + slot * head_size;
    for (int i = 0; i < head_size; ++i) {
      keys[i * kTileTokens] = RoundToBf16(key[i]);
    }
    for (int i = 0; i < head_size; ++i) values[i] = RoundToBf16(value[i]);
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AttendAll);
HWY_EXPORT(StoreRow);

size_t KvTileBytes(KvType type, int head_size) {
  return size_t{kTileTokens} * head_size * (type == KvType::kF32 ? 4 : 2);
}

void StoreKeyValue(KvType type, int head_size, const float* key,
                   const float* value, int slot, KvTile tile) {
  HWY_DYNAMIC_DISPATCH(StoreRow)(type, head_size, key, value, slot, tile);
}

void Attend(const AttentionCall& call) {
  HWY_DYNAMIC_DISPATCH(AttendAll)(call);
}

}  // namespace trivium
#endif  // HWY_ONCE
