// Attention over bf16 tiles with products of bf16 pairs, summed in f32: twice
// the rate of f32. Queries and weights are rounded to bf16, too. The sum by
// which outputs are divided is that of the unrounded weights. Steps and order
// are as in attention.cc: scores, softmax, output; a row's bits depend on that
// row alone.
#include <algorithm>
#include <cstdint>
#include <cstring>
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

// Rounds x to bf16 pairs, up to a whole vector of x, with zeros beyond n. `to`
// may be x.
HWY_INLINE void ToPairs(const float* x, int n, char* to) {
  const F32 d;
  const hn::Rebind<uint16_t, F32> d16;
  for (int i = 0; i < n; i += kPairLanes) {
    const int left = n - i;
    const auto v =
        left >= kPairLanes ? hn::LoadU(d, x + i) : LoadSome(d, x + i, left);
    hn::Vec<decltype(d16)> rounded;
    asm("vcvtneps2bf16 %1, %0" : "=v"(rounded.raw) : "v"(v.raw));
    std::memcpy(to + i * sizeof(uint16_t), &rounded.raw, sizeof(rounded.raw));
  }
}

// Computes the scores of kQueries rows, whose queries are `stride` pairs apart,
// with the keys of kTiles tiles from key `begin` on.
template <int kQueries, int kTiles>
HWY_NOINLINE void ScoreTiles(const AttentionCall& call, int begin, int head,
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

HWY_INLINE VU32 SetPair(const char* p) {
  uint32_t pair;
  std::memcpy(&pair, p, sizeof(pair));
  return hn::Set(U32(), pair);
}

// Adds weights V of a part, over the keys of `tiles`, to `sums` [kQueries,
// kGroups, kPairLanes]: kGroups groups of 16 dimensions from `group` on. The
// first tiles set the sums; the last ones set out = scale * sums.
template <int kQueries, int kGroups>
HWY_NOINLINE void WeighPairs(const AttentionCall& call,
                             const Part<kQueries>& part, const KeyRange& tiles,
                             int group, const float* HWY_RESTRICT scale,
                             float* HWY_RESTRICT sums) {
  const F32 d;
  const U32 d32;
  const Rows<kQueries>& rows = *part.rows;
  const int head_size = call.shape.head_size;
  const int groups = Groups(head_size);
  const size_t offset = call.shape.heads * KeyNumbers(head_size) +
                        part.head.head * ValueNumbers(head_size) +
                        group * kGroupNumbers;
  const char* const weights =
      reinterpret_cast<const char*>(part.head.converted);
  const size_t stride = rows.layout.stride * sizeof(float);
  VF32 sum[kQueries][kGroups];
  if (tiles.begin == rows.tiles.begin) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) sum[q][g] = hn::Zero(d);
    }
  } else {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        sum[q][g] = hn::Load(d, sums + (q * kGroups + g) * kPairLanes);
      }
    }
  }
  // Values that a row does not see may be NaN, so zero weights are not enough;
  // the values are masked.
  const auto add = [&](const uint16_t* pair, int key,
                       auto all) TRIVIUM_INLINE_LAMBDA {
    VU32 values[kGroups];
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      values[g] = hn::LoadU(
          d32, reinterpret_cast<const uint32_t*>(pair + g * kGroupNumbers));
    }
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const VU32 two = SetPair(weights + q * stride +
                               (key - rows.layout.origin) * sizeof(uint16_t));
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
  ForPairs<uint16_t>(call, rows, tiles, offset, groups * kGroupNumbers, add);
  if (tiles.end < rows.tiles.end) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        hn::Store(sum[q][g], d, sums + (q * kGroups + g) * kPairLanes);
      }
    }
    return;
  }
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int begin = (group + g) * kPairLanes;
      const int left = head_size - begin;
      if (left <= 0) continue;
      float* to = rows.out[q] + part.head.offset + begin;
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
HWY_INLINE void AttendParts(const AttentionCall& call,
                            const Part<kQueries>* parts, int count) {
  const int head_size = call.shape.head_size;
  const WeightLayout& layout = parts->rows->layout;
  const int query_stride = Groups(head_size) * kPairLanes / 2;  // in pairs
  auto* query = reinterpret_cast<uint32_t*>(call.scratch + layout.scratch());
  for (int p = 0; p < count; ++p) {
    for (int q = 0; q < kQueries; ++q) {
      ToPairs(
          parts[p].rows->query[q] + parts[p].head.offset, head_size,
          reinterpret_cast<char*>(query + (p * kQueries + q) * query_stride));
    }
  }
  ForBlocks(parts, count, BlockKeys(KeyNumbers(head_size) * sizeof(uint16_t)),
            kTilesAtOnce * kTileTokens,
            [&](int p, const KeyRange& tiles) TRIVIUM_INLINE_LAMBDA {
              const HeadRows& head = parts[p].head;
              const uint32_t* part_query = query + p * kQueries * query_stride;
              float* scores = head.weights - layout.origin;
              int key = tiles.begin;
              for (; key + kTilesAtOnce * kTileTokens <= tiles.end;
                   key += kTilesAtOnce * kTileTokens) {
                ScoreTiles<kQueries, kTilesAtOnce>(call, key, head.head,
                                                   part_query, query_stride,
                                                   scores + key, layout.stride);
              }
              if (key < tiles.end) {
                ScoreTiles<kQueries, 1>(call, key, head.head, part_query,
                                        query_stride, scores + key,
                                        layout.stride);
              }
            });
  float inverse[kMostParts][kQueries];
  for (int p = 0; p < count; ++p) {
    Softmax(parts[p], inverse[p]);
    const KeyRange& tiles = parts[p].rows->tiles;
    const int first = tiles.begin - layout.origin;
    for (int q = 0; q < kQueries; ++q) {
      const size_t row = static_cast<size_t>(q) * layout.stride;
      ToPairs(parts[p].head.weights + row + first, tiles.end - tiles.begin,
              reinterpret_cast<char*>(parts[p].head.converted + row) +
                  first * sizeof(uint16_t));
    }
  }
  const int groups = Groups(head_size);
  const int together = PartsOfHead<kQueries>(count);
  for (int p = 0; p < count; p += together) {
    const auto weigh = [&](int group, auto at_once) HWY_ATTR {
      constexpr int kGroups = decltype(at_once)::value;
      HWY_ALIGN float sums[kMostParts][kQueries * kGroups * kPairLanes];
      constexpr size_t kBytes =
          kTileTokens * kGroups * kPairLanes * sizeof(uint16_t);
      ForBlocks(parts + p, together, BlockKeys(kBytes), kWholeBlock,
                [&](int i, const KeyRange& tiles) TRIVIUM_INLINE_LAMBDA {
                  WeighPairs<kQueries, kGroups>(call, parts[p + i], tiles,
                                                group, inverse[p + i], sums[i]);
                });
    };
    int group = 0;
    for (; group + 4 <= groups; group += 4) weigh(group, Constant<4>());
    for (; group < groups; ++group) weigh(group, Constant<1>());
  }
  if (call.weights != nullptr) {
    for (int p = 0; p < count; ++p) Normalize(parts[p], inverse[p]);
  }
}

void AttendPairs(const AttentionCall& call) {
  ForRowsAndHeads(call, [&](const auto* parts, int count)
                            HWY_ATTR { AttendParts(call, parts, count); });
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
