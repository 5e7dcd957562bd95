// Attention over bf16 tiles with products of bf16 pairs, summed in f32: twice
// the rate of f32. Queries and weights are rounded to bf16, too. The sum by
// which outputs are divided is that of the unrounded weights. Steps and order
// are as in attention.cc: scores, softmax, output; a row's bits depend on that
// row alone.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "model/kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention_bf16.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/attention-inl.h"
#include "model/kernels/kv_tile-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::RebindToUnsigned<F32>;
using VF32 = hn::Vec<F32>;
using VU32 = hn::Vec<U32>;  // 16 pairs

// Tiles whose scores are computed at once, so that no sum waits for its last
// addition.
constexpr int kTilesAtOnce = 2;

// Returns sum + the products of the pairs of each lane. Inline assembly,
// because Highway offers these instructions only with others that such CPUs may
// lack.
HWY_INLINE VF32 AddPairProducts(VF32 sum, VU32 a, VU32 b) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "vm"(b.raw));
  return sum;
}

// Rounds x to bf16 pairs, up to a whole vector of x, with zeros beyond n.
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

// Computes the scores of kQueries rows, whose queries are `stride` pairs apart,
// with the keys of kTiles tiles from key `begin` on.
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
                 scores + q * scores_stride + t * kTileTokens);
    }
  }
}

// Computes out = scale * weights V for kQueries rows, whose weights are
// `stride` pairs apart, and kGroups groups of 16 dimensions from `group` on.
template <int kQueries, int kGroups>
HWY_NOINLINE void WeighPairs(const AttentionCall& call,
                             const Rows<kQueries>& rows, const HeadRows& head,
                             int group, const uint32_t* HWY_RESTRICT weights,
                             int stride, const float* HWY_RESTRICT scale) {
  const F32 d;
  const U32 d32;
  const int head_size = call.shape.head_size;
  const int groups = Groups(head_size);
  const size_t offset = call.shape.heads * KeyNumbers(head_size) +
                        head.head * ValueNumbers(head_size) +
                        group * kGroupNumbers;
  VF32 sum[kQueries][kGroups];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) sum[q][g] = hn::Zero(d);
  }
  // Values that a row does not see may be NaN, so zero weights are not enough;
  // the values are masked.
  const auto add = [&](const uint16_t* pair, int key, auto all) HWY_ATTR
      __attribute__((always_inline)) {
    VU32 values[kGroups];
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      values[g] = hn::LoadU(
          d32, reinterpret_cast<const uint32_t*>(pair + g * kGroupNumbers));
    }
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const VU32 two =
          hn::Set(d32, weights[q * stride + (key - rows.layout.origin) / 2u]);
      const uint32_t valid = (Sees(rows.seen[q], key) ? 0xffffu : 0) |
                             (Sees(rows.seen[q], key + 1) ? 0xffff0000u : 0);
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        if (all.value) {
          sum[q][g] = AddPairProducts(sum[q][g], two, values[g]);
        } else {
          const VU32 seen = hn::And(values[g], hn::Set(d32, valid));
          sum[q][g] =
              hn::IfThenElse(hn::FirstN(d, valid != 0 ? hn::Lanes(d) : 0),
                             AddPairProducts(sum[q][g], two, seen), sum[q][g]);
        }
      }
    }
  };
  ForPairs<uint16_t>(call, rows, offset, groups * kGroupNumbers, add);
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int begin = (group + g) * kPairLanes;
      const int left = head_size - begin;
      if (left <= 0) continue;
      float* to = rows.out[q] + head.offset + begin;
      const auto y = hn::Mul(sum[q][g], hn::Set(d, scale[q]));
      if (left >= kPairLanes) {
        hn::StoreU(y, d, to);
      } else {
        StoreFirst(y, hn::FirstN(d, static_cast<size_t>(left)), d, to);
      }
    }
  }
}

template <int kQueries>
HWY_INLINE void AttendHeads(const AttentionCall& call,
                            const Rows<kQueries>& rows, const HeadRows* heads,
                            int count) {
  const int head_size = call.shape.head_size;
  // Strides in pairs.
  const int query_stride = Groups(head_size) * kPairLanes / 2;
  const int weight_stride = rows.layout.stride / 2;
  auto* query = reinterpret_cast<uint32_t*>(call.scratch + rows.layout.scratch);
  uint32_t* weights = query + count * kQueries * query_stride;
  for (int h = 0; h < count; ++h) {
    for (int q = 0; q < kQueries; ++q) {
      ToPairs(rows.query[q] + heads[h].offset, head_size,
              query + (h * kQueries + q) * query_stride);
    }
  }
  for (int begin = rows.tiles.begin, tiles; begin < rows.tiles.end;
       begin += tiles * kTileTokens) {
    tiles =
        begin + kTilesAtOnce * kTileTokens <= rows.tiles.end ? kTilesAtOnce : 1;
    for (int h = 0; h < count; ++h) {
      const uint32_t* head_query = query + h * kQueries * query_stride;
      float* scores = heads[h].weights + begin - rows.layout.origin;
      if (tiles == kTilesAtOnce) {
        ScoreTiles<kQueries, kTilesAtOnce>(call, begin, heads[h].head,
                                           head_query, query_stride, scores,
                                           rows.layout.stride);
      } else {
        ScoreTiles<kQueries, 1>(call, begin, heads[h].head, head_query,
                                query_stride, scores, rows.layout.stride);
      }
    }
  }
  float inverse[kRowsAtOnce][kQueries];
  Softmax<kQueries>(rows, heads, count, inverse);
  const int groups = Groups(head_size);
  constexpr int kGroups = 4;
  const int first = rows.tiles.begin - rows.layout.origin;
  for (int h = 0; h < count; ++h) {
    for (int q = 0; q < kQueries; ++q) {
      ToPairs(heads[h].weights + q * rows.layout.stride + first,
              rows.tiles.end - rows.tiles.begin,
              weights + q * weight_stride + first / 2);
    }
    int group = 0;
    for (; group + kGroups <= groups; group += kGroups) {
      WeighPairs<kQueries, kGroups>(call, rows, heads[h], group, weights,
                                    weight_stride, inverse[h]);
    }
    for (; group < groups; ++group) {
      WeighPairs<kQueries, 1>(call, rows, heads[h], group, weights,
                              weight_stride, inverse[h]);
    }
    if (call.weights != nullptr) {
      Normalize<kQueries>(rows, inverse[h], heads[h].weights);
    }
  }
}

void AttendPairs(const AttentionCall& call) {
  ForRowsAndHeads(call,
                  [&](const auto& rows, const auto* heads, int count)
                      HWY_ATTR { AttendHeads(call, rows, heads, count); });
}

#else

void AttendPairs(const AttentionCall&) {}  // never called, see RoundsQueries

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
