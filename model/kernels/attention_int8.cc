#include <algorithm>
#include <cstdint>
#include <cstring>

#include "model/kernels/attention.h"
#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention_int8.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "model/kernels/attention-inl.h"
#include "model/kernels/byte_dots-inl.h"
#include "model/kernels/kv_tile_int8-inl.h"
#include "model/kernels/vector-inl.h"

// Attention whose products are sums of bytes, exact in 32 bits:
// - a query is made bytes as keys are, plus 128: the instruction multiplies
//   unsigned by signed bytes. q . k = scale_q scale_k (sum - 128 sum_k).
// - a key's weight, times its value's scale, becomes 16 bits, of which the
//   upper and the lower eight are multiplied apart: with eight alone, many
//   small weights beside a large one would be lost.
// Sums of up to 65,000 keys cannot overflow: 255 * 127 * 65,000 < 2^31.

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kZero = 128;

HWY_INLINE VI32 SetQuad(const uint8_t* p) {
  int32_t quad;
  std::memcpy(&quad, p, sizeof(quad));
  return hn::Set(I32(), quad);
}

// A query's bytes and the weights' bytes, after call.weights.
struct Bytes {
  uint8_t* query;  // [kQueries, 4 Quads(head_size)]
  uint8_t* upper;  // [kQueries, padded keys]
  uint8_t* lower;  // the same
};

// q + 128 of a query. Returns scale_q.
HWY_INLINE float QuantizeQuery(const float* HWY_RESTRICT query, int head_size,
                               uint8_t* HWY_RESTRICT bytes) {
  const hn::Rebind<uint8_t, F32> d8;
  return QuantizeSymmetric(
             query, head_size,
             [&](int i, auto q) HWY_ATTR {
               const auto shifted = hn::Add(q, hn::Set(I32(), kZero));
               hn::StoreU(hn::DemoteTo(d8, shifted), d8, bytes + i);
             })
      .scale;
}

// Scores of kQueries queries against a tile's tokens from `lane` on.
template <bool kVnni, int kQueries>
HWY_INLINE void ScoreTokens(const Int8Head<const char>& head, int lane,
                            int quads, const uint8_t* HWY_RESTRICT query,
                            int query_stride,
                            const float* HWY_RESTRICT query_scale,
                            float* HWY_RESTRICT scores, size_t stride) {
  const F32 d;
  const I32 d32;
  VI32 sum[kQueries][2];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) sum[q][0] = sum[q][1] = hn::Zero(d32);
  const int32_t* keys = reinterpret_cast<const int32_t*>(head.keys) + lane;
  const auto add = [&](int quad, int turn) HWY_ATTR {
    const VI32 k = hn::LoadU(d32, keys + quad * kQuadLanes);
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      sum[q][turn] = AddDots<kVnni>(
          sum[q][turn], SetQuad(query + q * query_stride + quad * kQuad), k);
    }
  };
  int quad = 0;
  for (; quad + 2 <= quads; quad += 2) {
    add(quad, 0);
    add(quad + 1, 1);
  }
  if (quad < quads) add(quad, 0);
  const auto key_scale =
      hn::LoadU(d, reinterpret_cast<const float*>(head.key_scale) + lane);
  const auto offset = hn::ShiftLeft<7>(
      hn::LoadU(d32, reinterpret_cast<const int32_t*>(head.key_sum) + lane));
  static_assert(kZero == 1 << 7);
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    const auto dot = hn::Sub(hn::Add(sum[q][0], sum[q][1]), offset);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, dot),
                       hn::Mul(hn::Set(d, query_scale[q]), key_scale)),
               d, scores + q * stride);
  }
}

// The 16 bits of the weights of one query, times their values' scales. Returns
// what the lowest bit stands for.
HWY_INLINE float QuantizeWeights(const AttentionCall& call, int head,
                                 const float* HWY_RESTRICT weights,
                                 float* HWY_RESTRICT scaled,
                                 uint8_t* HWY_RESTRICT upper,
                                 uint8_t* HWY_RESTRICT lower) {
  const F32 d;
  const I32 d32;
  const hn::Rebind<uint8_t, F32> d8;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int padded = PaddedKeys(call.keys);
  auto most = hn::Zero(d);
  for (int i = 0; i < padded; i += lanes) {
    const Int8Head<const char> tile(call.shape, call.tiles[i / kTileTokens],
                                    head);
    const auto scale = hn::LoadU(
        d, reinterpret_cast<const float*>(tile.value_scale) + i % kTileTokens);
    // What lies behind the last key may be anything.
    const int left = call.keys - i;
    const auto valid = hn::FirstN(d, static_cast<size_t>(left > 0 ? left : 0));
    const auto product =
        hn::IfThenElseZero(valid, hn::Mul(hn::LoadU(d, weights + i), scale));
    most = hn::Max(most, product);
    hn::StoreU(product, d, scaled + i);
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  const auto inverse = hn::Set(d, largest > 0 ? 65535 / largest : 0.0f);
  const auto limit = hn::Set(d32, 65535);
  for (int i = 0; i < padded; i += lanes) {
    const auto q = hn::Min(
        hn::NearestInt(hn::Mul(hn::LoadU(d, scaled + i), inverse)), limit);
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<8>(q)), d8, upper + i);
    hn::StoreU(hn::DemoteTo(d8, hn::And(q, hn::Set(d32, 255))), d8, lower + i);
  }
  return largest / 65535;
}

// out = scale * weights V for kQueries queries and kGroups groups of 16
// dimensions from `group`.
template <bool kVnni, int kQueries, int kGroups>
HWY_INLINE void WeighValues(const AttentionCall& call, int head, int group,
                            int lane, const Bytes& bytes,
                            const float* HWY_RESTRICT scale, float* out) {
  const F32 d;
  const I32 d32;
  VI32 upper[kQueries][kGroups], lower[kQueries][kGroups];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      upper[q][g] = lower[q][g] = hn::Zero(d32);
    }
  }
  const int padded = PaddedKeys(call.keys);
  const int groups = DimensionGroups(call.shape.head_size);
  for (int begin = 0; begin < call.keys; begin += kTileTokens) {
    const Int8Head<const char> tile(call.shape, call.tiles[begin / kTileTokens],
                                    head);
    const int32_t* row = reinterpret_cast<const int32_t*>(tile.values) +
                         group * kQuadLanes + lane;
    const int end =
        call.keys < begin + kTileTokens ? call.keys : begin + kTileTokens;
    for (int key = begin; key < end; key += kQuad, row += groups * kQuadLanes) {
      VI32 values[kGroups];
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        values[g] = hn::LoadU(d32, row + g * kQuadLanes);
      }
      TRIVIUM_UNROLL
      for (int q = 0; q < kQueries; ++q) {
        const VI32 high = SetQuad(bytes.upper + q * padded + key);
        const VI32 low = SetQuad(bytes.lower + q * padded + key);
        TRIVIUM_UNROLL
        for (int g = 0; g < kGroups; ++g) {
          upper[q][g] = AddDots<kVnni>(upper[q][g], high, values[g]);
          lower[q][g] = AddDots<kVnni>(lower[q][g], low, values[g]);
        }
      }
    }
  }
  const int lanes = static_cast<int>(hn::Lanes(d));
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int begin = (group + g) * kQuadLanes + lane;
      const int left = call.shape.head_size - begin;
      if (left <= 0) continue;
      const auto sum =
          hn::MulAdd(hn::ConvertTo(d, upper[q][g]), hn::Set(d, 256.0f),
                     hn::ConvertTo(d, lower[q][g]));
      const auto y = hn::Mul(sum, hn::Set(d, scale[q]));
      float* to = out + q * call.out_stride + begin;
      if (left >= lanes) {
        hn::StoreU(y, d, to);
      } else {
        hn::BlendedStore(y, hn::FirstN(d, static_cast<size_t>(left)), d, to);
      }
    }
  }
}

// Values are on their way from memory while scores are computed.
HWY_INLINE void PrefetchBytes(const char* p, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) hwy::Prefetch(p + at);
}

template <bool kVnni, int kQueries>
HWY_INLINE void AttendHeads(const AttentionCall& call, const HeadCall* heads,
                            int count) {
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  const int head_size = call.shape.head_size;
  const int padded = PaddedKeys(call.keys);
  const int query_stride = DimensionGroups(head_size) * kQuadLanes;
  float* scaled = call.weights + PlainWeightsSize(call.shape, call.queries,
                                                  call.keys, call.keep_weights);
  Bytes bytes;
  bytes.upper = reinterpret_cast<uint8_t*>(scaled + padded);
  bytes.lower = bytes.upper + kQueries * padded;
  bytes.query = bytes.lower + kQueries * padded;

  const size_t query_bytes = static_cast<size_t>(kQueries) * query_stride;
  float query_scale[kHeadsAtOnce][kQueries];
  for (int h = 0; h < count; ++h) {
    for (int q = 0; q < kQueries; ++q) {
      query_scale[h][q] =
          call.scale *
          QuantizeQuery(heads[h].query + q * call.query_stride, head_size,
                        bytes.query + h * query_bytes + q * query_stride);
    }
  }
  for (int begin = 0; begin < padded; begin += kTileTokens) {
    const int tokens = std::min(kTileTokens, call.keys - begin);
    for (int h = 0; h < count; ++h) {
      const Int8Head<const char> tile(
          call.shape, call.tiles[begin / kTileTokens], heads[h].head);
      PrefetchBytes(tile.value_scale,
                    Int8Head<const char>::ValueBytes(tokens, head_size));
      for (int lane = 0; lane < kTileTokens; lane += lanes) {
        ScoreTokens<kVnni, kQueries>(tile, lane, Quads(head_size),
                                     bytes.query + h * query_bytes,
                                     query_stride, query_scale[h],
                                     heads[h].weights + begin + lane, padded);
      }
    }
  }
  float inverse[kHeadsAtOnce][kQueries];
  Softmax<kQueries>(call.keys, heads, count, inverse);
  const int groups = DimensionGroups(head_size);
  constexpr int kGroups = kQueries == 1 ? 4 : 2;
  for (int h = 0; h < count; ++h) {
    float scale[kQueries];
    for (int q = 0; q < kQueries; ++q) {
      scale[q] = inverse[h][q] *
                 QuantizeWeights(
                     call, heads[h].head, heads[h].weights + q * padded, scaled,
                     bytes.upper + q * padded, bytes.lower + q * padded);
    }
    for (int lane = 0; lane < kQuadLanes; lane += lanes) {
      int group = 0;
      for (; group + kGroups <= groups; group += kGroups) {
        WeighValues<kVnni, kQueries, kGroups>(call, heads[h].head, group, lane,
                                              bytes, scale, heads[h].out);
      }
      for (; group < groups; ++group) {
        WeighValues<kVnni, kQueries, 1>(call, heads[h].head, group, lane, bytes,
                                        scale, heads[h].out);
      }
    }
    for (const char* tile : call.next_tiles) {
      const Int8Head<const char> next(call.shape, tile, heads[h].head);
      PrefetchBytes(next.keys, Int8Head<const char>::KeyBytes(head_size));
    }
    if (call.keep_weights) {
      Normalize<kQueries>(call, inverse[h], heads[h].weights);
    }
  }
}

template <bool kVnni>
HWY_INLINE void AttendVnni(const AttentionCall& call) {
  ForQueriesAndHeads(
      call, [&](auto queries, const HeadCall* heads, int count) HWY_ATTR {
        AttendHeads<kVnni, decltype(queries)::value>(call, heads, count);
      });
}

void AttendBytes(const AttentionCall& call, bool vnni) {
  if (HWY_TARGET == HWY_AVX3 && vnni) {
    AttendVnni<true>(call);
  } else {
    AttendVnni<false>(call);
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AttendBytes);

void AttendInt8(const AttentionCall& call) {
  HWY_DYNAMIC_DISPATCH(AttendBytes)(call, ActiveIsa() >= Isa::kAvx512Vnni);
}

}  // namespace trivium
#endif  // HWY_ONCE
