#include <cstdint>
#include <cstring>

#include "model/kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention_bf16.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/highway.h"
#include "model/kernels/attention-inl.h"
#include "model/kernels/kv_tile-inl.h"
#include "model/kernels/vector-inl.h"

// Attention over bf16 tiles with products of pairs of bf16, summed in f32:
// twice the rate of f32. Queries and weights are rounded to bf16, too; the
// weights' sum, by which outputs are divided, is of unrounded ones.

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::RebindToUnsigned<F32>;
using VF32 = hn::Vec<F32>;
using VU32 = hn::Vec<U32>;  // 16 pairs

// Tiles whose scores are under way at once, so that no sum waits for its last
// addition.
constexpr int kTilesAtOnce = 2;

// sum + the products of the pairs of each lane. No target of Highway's has
// these instructions without others that CPUs with them may lack.
HWY_INLINE VF32 AddPairProducts(VF32 sum, VU32 a, VU32 b) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "vm"(b.raw));
  return sum;
}

// x, rounded, in pairs, up to a whole vector of x; zeros beyond n.
HWY_INLINE void ToPairs(const float* HWY_RESTRICT x, int n,
                        uint32_t* HWY_RESTRICT pairs) {
  const F32 d;
  const hn::Rebind<uint16_t, F32> d16;
  auto* to = reinterpret_cast<uint16_t*>(pairs);
  for (int i = 0; i < n; i += kPairLanes) {
    const int left = n - i;
    const auto v =
        left >= kPairLanes ? hn::LoadU(d, x + i) : LoadSome(d, x + i, left);
    hn::Vec<decltype(d16)> rounded;
    asm("vcvtneps2bf16 %1, %0" : "=v"(rounded.raw) : "v"(v.raw));
    hn::StoreU(rounded, d16, to + i);
  }
}

// Scores of kQueries queries, `stride` pairs apart, against the keys of kTiles
// tiles from key `begin` on.
template <int kQueries, int kTiles>
HWY_INLINE void ScoreTiles(const AttentionCall& call, int begin, int head,
                           const uint32_t* HWY_RESTRICT query, int stride,
                           float* HWY_RESTRICT scores, size_t scores_stride) {
  const F32 d;
  const U32 d32;
  const int pairs = Pairs(call.shape.head_size);
  const uint32_t* keys[kTiles];
  VF32 sum[kQueries][kTiles][2];
  TRIVIUM_UNROLL
  for (int t = 0; t < kTiles; ++t) {
    keys[t] =
        reinterpret_cast<const uint32_t*>(call.tiles[begin / kTileTokens + t]) +
        head * pairs * kPairLanes;
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      sum[q][t][0] = sum[q][t][1] = hn::Zero(d);
    }
  }
  const auto add = [&](int pair, int turn) HWY_ATTR {
    VU32 k[kTiles];
    TRIVIUM_UNROLL
    for (int t = 0; t < kTiles; ++t) {
      k[t] = hn::LoadU(d32, keys[t] + pair * kPairLanes);
    }
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const VU32 two = hn::Set(d32, query[q * stride + pair]);
      TRIVIUM_UNROLL
      for (int t = 0; t < kTiles; ++t) {
        sum[q][t][turn] = AddPairProducts(sum[q][t][turn], two, k[t]);
      }
    }
  };
  int pair = 0;
  for (; pair + 2 <= pairs; pair += 2) {
    add(pair, 0);
    add(pair + 1, 1);
  }
  if (pair < pairs) add(pair, 0);
  const auto scale = hn::Set(d, call.scale);
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int t = 0; t < kTiles; ++t) {
      hn::StoreU(hn::Mul(hn::Add(sum[q][t][0], sum[q][t][1]), scale), d,
                 scores + q * scores_stride + begin + t * kTileTokens);
    }
  }
}

// out = scale * weights V for kQueries queries, whose weights are `stride`
// pairs apart, and kGroups groups of 16 dimensions from `group`.
template <int kQueries, int kGroups>
HWY_INLINE void WeighPairs(const AttentionCall& call, int head, int group,
                           const uint32_t* HWY_RESTRICT weights, int stride,
                           const float* HWY_RESTRICT scale, float* out) {
  const F32 d;
  const U32 d32;
  const int head_size = call.shape.head_size;
  const int groups = Groups(head_size);
  const size_t offset = call.shape.heads * KeyNumbers(head_size) +
                        head * ValueNumbers(head_size) + group * kPairRow;
  VF32 sum[kQueries][kGroups];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) sum[q][g] = hn::Zero(d);
  }
  // `valid`: the bits of a pair that are a key's. What lies behind the last key
  // may be anything, even what a weight of zero does not make zero.
  const auto add = [&](const uint32_t* row, int pair, VU32 valid) HWY_ATTR {
    VU32 values[kGroups];
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      values[g] = hn::And(valid, hn::LoadU(d32, row + g * kPairLanes));
    }
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const VU32 two = hn::Set(d32, weights[q * stride + pair]);
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        sum[q][g] = AddPairProducts(sum[q][g], two, values[g]);
      }
    }
  };
  const auto both = hn::Set(d32, 0xffffffffu);
  for (int begin = 0; begin < call.keys; begin += kTileTokens) {
    const auto* row = reinterpret_cast<const uint32_t*>(
        reinterpret_cast<const uint16_t*>(call.tiles[begin / kTileTokens]) +
        offset);
    const int end =
        call.keys < begin + kTileTokens ? call.keys : begin + kTileTokens;
    int key = begin;
    for (; key + 2 <= end; key += 2, row += groups * kPairLanes) {
      add(row, key / 2, both);
    }
    if (key < end) add(row, key / 2, hn::Set(d32, 0xffffu));
  }
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int begin = (group + g) * kPairLanes;
      const int left = head_size - begin;
      if (left <= 0) continue;
      float* to = out + q * call.out_stride + begin;
      const auto y = hn::Mul(sum[q][g], hn::Set(d, scale[q]));
      if (left >= kPairLanes) {
        hn::StoreU(y, d, to);
      } else {
        hn::BlendedStore(y, hn::FirstN(d, static_cast<size_t>(left)), d, to);
      }
    }
  }
}

template <int kQueries>
HWY_INLINE void AttendHeads(const AttentionCall& call, const HeadCall* heads,
                            int count) {
  const int head_size = call.shape.head_size;
  const int padded = PaddedKeys(call.keys);
  // In pairs.
  const int query_stride = Groups(head_size) * kPairLanes / 2;
  const int weight_stride = padded / 2;
  auto* query = reinterpret_cast<uint32_t*>(
      call.weights +
      PlainWeightsSize(call.shape, call.queries, call.keys, call.keep_weights));
  uint32_t* weights = query + count * kQueries * query_stride;
  for (int h = 0; h < count; ++h) {
    for (int q = 0; q < kQueries; ++q) {
      ToPairs(heads[h].query + q * call.query_stride, head_size,
              query + (h * kQueries + q) * query_stride);
    }
  }
  for (int begin = 0, tiles; begin < padded; begin += tiles * kTileTokens) {
    tiles = begin + kTilesAtOnce * kTileTokens <= padded ? kTilesAtOnce : 1;
    for (int h = 0; h < count; ++h) {
      const uint32_t* head_query = query + h * kQueries * query_stride;
      if (tiles == kTilesAtOnce) {
        ScoreTiles<kQueries, kTilesAtOnce>(call, begin, heads[h].head,
                                           head_query, query_stride,
                                           heads[h].weights, padded);
      } else {
        ScoreTiles<kQueries, 1>(call, begin, heads[h].head, head_query,
                                query_stride, heads[h].weights, padded);
      }
    }
  }
  float inverse[kHeadsAtOnce][kQueries];
  Softmax<kQueries>(call.keys, heads, count, inverse);
  const int groups = Groups(head_size);
  constexpr int kGroups = 4;
  for (int h = 0; h < count; ++h) {
    for (int q = 0; q < kQueries; ++q) {
      ToPairs(heads[h].weights + q * padded, padded,
              weights + q * weight_stride);
    }
    int group = 0;
    for (; group + kGroups <= groups; group += kGroups) {
      WeighPairs<kQueries, kGroups>(call, heads[h].head, group, weights,
                                    weight_stride, inverse[h], heads[h].out);
    }
    for (; group < groups; ++group) {
      WeighPairs<kQueries, 1>(call, heads[h].head, group, weights,
                              weight_stride, inverse[h], heads[h].out);
    }
    if (call.keep_weights) {
      Normalize<kQueries>(call, inverse[h], heads[h].weights);
    }
  }
}

void AttendPairs(const AttentionCall& call) {
  ForQueriesAndHeads(
      call, [&](auto queries, const HeadCall* heads, int count) HWY_ATTR {
        AttendHeads<decltype(queries)::value>(call, heads, count);
      });
}

#else

void AttendPairs(const AttentionCall&) {}  // never called: RoundsQueries

#endif

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AttendPairs);

void AttendBf16(const AttentionCall& call) {
  HWY_DYNAMIC_DISPATCH(AttendPairs)(call);
}

}  // namespace trivium
#endif  // HWY_ONCE
