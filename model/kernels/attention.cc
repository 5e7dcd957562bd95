// Attention over f32 and bf16 tiles in f32; attention.h says what it computes.
// For up to 32 rows (a row is one query of one query head):
//
//   1. Scores: each row's query times the keys of every tile that a row sees.
//   2. Softmax over the keys that the row sees (attention-inl.h), without the
//      factor 1 / sum.
//   3. Output: weights times values, times 1 / sum at the end.
//
// Steps 1 and 3 take a block of keys at a time, for all rows, four of them at
// once; sums of step 3 are stored between blocks.
//
// What always holds: sums run in an order that depends on the row alone. Even
// and odd pairs of dimensions, and even and odd keys, are summed separately, in
// the same order for every number of rows at once, so a row's bits do not
// depend on the other rows. Unseen keys and values may be NaN: they are masked,
// not multiplied by zero.
//
// This file also chooses the implementation: attention_int8.cc and
// attention_bf16.cc have the others.
#include "model/kernels/attention.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/attention-inl.h"
#include "model/kernels/kv_tile-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Computes the scores of kQueries rows with one vector of a tile's tokens, from
// `lane` on. T is the type of a tile's numbers: float, or uint16_t for bf16.
// Four chains of additions (alternating pairs, first and second of a pair) hide
// more latency than one; their order is the same for every kQueries.
template <int kQueries, class T>
HWY_INLINE void ScoreVector(const AttentionCall& call,
                            const Rows<kQueries>& rows, size_t query_offset,
                            const T* HWY_RESTRICT keys, int lane,
                            float* HWY_RESTRICT scores, size_t stride) {
  const F32 d;
  using V = hn::Vec<F32>;
  V sum[kQueries][2][2];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    sum[q][0][0] = sum[q][0][1] = sum[q][1][0] = sum[q][1][1] = hn::Zero(d);
  }
  const auto add = [&](int pair, int turn) HWY_ATTR {
    V first, second;
    LoadPairs(d, keys + pair * 2 * kTileTokens, lane, first, second);
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const float* query = rows.query[q] + (query_offset + 2 * pair);
      sum[q][turn][0] =
          hn::MulAdd(hn::Set(d, query[0]), first, sum[q][turn][0]);
      sum[q][turn][1] =
          hn::MulAdd(hn::Set(d, query[1]), second, sum[q][turn][1]);
    }
  };
  const int whole = call.shape.head_size / 2;
  int pair = 0;
  for (; pair + 2 <= whole; pair += 2) {
    add(pair, 0);
    add(pair + 1, 1);
  }
  if (pair < whole) add(pair, 0);
  if (call.shape.head_size % 2 != 0) {
    V first, second;
    LoadPairs(d, keys + whole * 2 * kTileTokens, lane, first, second);
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const float last = rows.query[q][query_offset + 2 * whole];
      sum[q][1][0] = hn::MulAdd(hn::Set(d, last), first, sum[q][1][0]);
    }
  }
  const auto scale = hn::Set(d, call.scale);
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    const V all = hn::Add(hn::Add(sum[q][0][0], sum[q][1][0]),
                          hn::Add(sum[q][0][1], sum[q][1][1]));
    hn::StoreU(hn::Mul(all, scale), d, scores + q * stride);
  }
}

// Adds weights V of a part, over the keys of `tiles`, to `sums` [kQueries,
// kGroups, even and odd keys, lanes]: one vector of lanes in each of kGroups
// groups of 16 dimensions. A tile has the head's values at `value_offset`. The
// first tiles set the sums; the last ones set out = scale * sums. Even and odd
// keys are summed separately, as above.
template <class T, int kQueries, int kGroups>
HWY_NOINLINE void WeighValues(const AttentionCall& call,
                              const Part<kQueries>& part, const KeyRange& tiles,
                              int value_offset, int group, int lane,
                              const float* HWY_RESTRICT scale,
                              float* HWY_RESTRICT sums) {
  const F32 d;
  using V = hn::Vec<F32>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const Rows<kQueries>& rows = *part.rows;
  V even[kQueries][kGroups], odd[kQueries][kGroups];
  if (tiles.begin == rows.tiles.begin) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) even[q][g] = odd[q][g] = hn::Zero(d);
    }
  } else {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        const float* from = sums + (q * kGroups + g) * 2 * lanes;
        even[q][g] = hn::Load(d, from);
        odd[q][g] = hn::Load(d, from + lanes);
      }
    }
  }
  const float* HWY_RESTRICT weights = part.head.weights;
  // Returns sum + weight * value, or `sum` if the row does not see the key.
  const auto weigh = [&](V sum, const float* weight, V value, bool sees,
                         auto all) HWY_ATTR {
    const V y = hn::MulAdd(hn::Set(d, *weight), value, sum);
    if (all.value) return y;
    return hn::IfThenElse(hn::FirstN(d, sees ? hn::Lanes(d) : 0), y, sum);
  };
  const auto add = [&](const T* pair, int key, auto all) TRIVIUM_INLINE_LAMBDA {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      V first, second;
      LoadPairs(d, pair + (group + g) * kGroupNumbers, lane, first, second);
      TRIVIUM_UNROLL
      for (int q = 0; q < kQueries; ++q) {
        const float* weight =
            weights + q * rows.layout.stride + (key - rows.layout.origin);
        even[q][g] =
            weigh(even[q][g], weight, first, Sees(rows.seen[q], key), all);
        odd[q][g] = weigh(odd[q][g], weight + 1, second,
                          Sees(rows.seen[q], key + 1), all);
      }
    }
  };
  ForPairs<T>(call, rows, tiles, value_offset,
              Groups(call.shape.head_size) * kGroupNumbers, add);
  if (tiles.end < rows.tiles.end) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        float* to = sums + (q * kGroups + g) * 2 * lanes;
        hn::Store(even[q][g], d, to);
        hn::Store(odd[q][g], d, to + lanes);
      }
    }
    return;
  }
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int begin = (group + g) * kPairLanes + lane;
      const int left = call.shape.head_size - begin;
      if (left <= 0) continue;
      float* to = rows.out[q] + part.head.offset + begin;
      const V y = hn::Mul(hn::Add(even[q][g], odd[q][g]), hn::Set(d, scale[q]));
      if (left >= lanes) {
        hn::StoreU(y, d, to);
      } else {
        StoreFirst(y, hn::FirstN(d, static_cast<size_t>(left)), d, to);
      }
    }
  }
}

// Computes out = scale * weights K, where values are the keys, in the two
// dimensions of `pair`. A vector of each tile's tokens after the other is
// multiplied by those tokens' weights.
template <class T, int kQueries>
HWY_NOINLINE void WeighKeys(const AttentionCall& call,
                            const Part<kQueries>& part, int pair,
                            const float* HWY_RESTRICT scale) {
  const F32 d;
  using V = hn::Vec<F32>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int size = call.shape.head_size;
  const Rows<kQueries>& rows = *part.rows;
  const HeadRows& head = part.head;
  const size_t offset = head.head * KeyNumbers(size) + pair * kGroupNumbers;
  TileSum sums[kQueries][2];
  for (int v = 0; v < TileSum::kVectors; ++v) {
    V sum[kQueries][2];
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) sum[q][0] = sum[q][1] = hn::Zero(d);
    for (int key = rows.tiles.begin + v * lanes; key < rows.tiles.end;
         key += kTileTokens) {
      const T* keys = reinterpret_cast<const T*>(call.tiles[key / kTileTokens]);
      V first, second;
      LoadPairs(d, keys + offset, key % kTileTokens, first, second);
      const float* weights = head.weights + (key - rows.layout.origin);
      const bool all = rows.all.begin <= key && key + lanes <= rows.all.end;
      TRIVIUM_UNROLL
      for (int q = 0; q < kQueries; ++q) {
        const V weight = hn::LoadU(d, weights + q * rows.layout.stride);
        const V a = hn::MulAdd(weight, first, sum[q][0]);
        const V b = hn::MulAdd(weight, second, sum[q][1]);
        if (HWY_LIKELY(all)) {
          sum[q][0] = a;
          sum[q][1] = b;
          continue;
        }
        const auto below = [&](int bound) HWY_ATTR {
          return hn::FirstN(d, static_cast<size_t>(std::max(bound - key, 0)));
        };
        const auto seen =
            hn::AndNot(below(rows.seen[q].begin), below(rows.seen[q].end));
        sum[q][0] = hn::IfThenElse(seen, a, sum[q][0]);
        sum[q][1] = hn::IfThenElse(seen, b, sum[q][1]);
      }
    }
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      sums[q][0].at[v] = sum[q][0];
      sums[q][1].at[v] = sum[q][1];
    }
  }
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    float* to = rows.out[q] + head.offset + 2 * pair;
    to[0] = sums[q][0].Get() * scale[q];
    if (2 * pair + 1 < size) to[1] = sums[q][1].Get() * scale[q];
  }
}

// Runs the three steps of attention for parts.
template <class T, int kQueries>
HWY_INLINE void AttendParts(const AttentionCall& call,
                            const Part<kQueries>* parts, int count) {
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  const int head_size = call.shape.head_size;
  const WeightLayout& layout = parts->rows->layout;
  ForBlocks(parts, count, BlockKeys(KeyNumbers(head_size) * sizeof(T)),
            kTileTokens,
            [&](int p, const KeyRange& tiles) TRIVIUM_INLINE_LAMBDA {
              const HeadRows& head = parts[p].head;
              for (int key = tiles.begin; key < tiles.end; key += kTileTokens) {
                const T* keys =
                    reinterpret_cast<const T*>(call.tiles[key / kTileTokens]) +
                    head.head * KeyNumbers(head_size);
                float* scores = head.weights + (key - layout.origin);
                for (int lane = 0; lane < kTileTokens; lane += lanes) {
                  ScoreVector(call, *parts[p].rows, head.offset, keys, lane,
                              scores + lane, layout.stride);
                }
              }
            });
  float inverse[kMostParts][kQueries];
  for (int p = 0; p < count; ++p) Softmax(parts[p], inverse[p]);
  const int groups = Groups(head_size);
  const int together = PartsOfHead<kQueries>(count);
  for (int p = 0; p < count; p += together) {
    if (call.shape.values_are_keys) {
      for (int pair = 0; pair < Pairs(head_size); ++pair) {
        for (int i = p; i < p + together; ++i) {
          WeighKeys<T>(call, parts[i], pair, inverse[i]);
        }
      }
      continue;
    }
    const int offset = call.shape.heads * KeyNumbers(head_size) +
                       parts[p].head.head * ValueNumbers(head_size);
    const auto weigh = [&](int group, int lane, auto at_once) HWY_ATTR {
      constexpr int kGroups = decltype(at_once)::value;
      HWY_ALIGN float sums[kMostParts][kQueries * kGroups * 2 * kPairLanes];
      constexpr size_t kBytes = kTileTokens * kGroups * kPairLanes * sizeof(T);
      ForBlocks(parts + p, together, BlockKeys(kBytes), kWholeBlock,
                [&](int i, const KeyRange& tiles) TRIVIUM_INLINE_LAMBDA {
                  WeighValues<T, kQueries, kGroups>(call, parts[p + i], tiles,
                                                    offset, group, lane,
                                                    inverse[p + i], sums[i]);
                });
    };
    constexpr int kGroups = kQueries == 1 ? 4 : 2;
    for (int lane = 0; lane < kPairLanes; lane += lanes) {
      int group = 0;
      for (; group + kGroups <= groups; group += kGroups) {
        weigh(group, lane, Constant<kGroups>());
      }
      for (; group < groups; ++group) weigh(group, lane, Constant<1>());
    }
  }
  if (call.weights != nullptr) {
    for (int p = 0; p < count; ++p) Normalize(parts[p], inverse[p]);
  }
}

template <class T>
HWY_INLINE void AttendTyped(const AttentionCall& call) {
  ForRowsAndHeads(call, [&](const auto* parts, int count)
                            HWY_ATTR { AttendParts<T>(call, parts, count); });
}

size_t ScratchSize(const AttentionCall& call) {
  const WeightLayout layout = LayoutOf(call);
  if (call.shape.type == KvType::kF32) return layout.scratch();
  // int8 needs one row's weights once more, before they are rounded.
  const size_t one_row = call.shape.type == KvType::kInt8 ? layout.stride : 0;
  // Queries of two bytes per dimension, in groups of 16.
  const size_t converted_queries = static_cast<size_t>(layout.rows) *
                                   Groups(call.shape.head_size) * kPairLanes /
                                   2;
  return layout.scratch() + one_row + converted_queries;
}

void AttendFloats(const AttentionCall& call) {
  if (call.shape.type == KvType::kF32) {
    AttendTyped<float>(call);
  } else {
    AttendTyped<uint16_t>(call);
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(ScratchSize);
HWY_EXPORT(AttendFloats);

// Defined in attention_int8.cc and attention_bf16.cc.
void AttendInt8(const AttentionCall& call);
void AttendBf16(const AttentionCall& call);

size_t AttentionScratchSize(const AttentionCall& call) {
  return HWY_DYNAMIC_DISPATCH(ScratchSize)(call);
}

bool RoundsQueries(KvType type) {
  return type == KvType::kBf16 && ActiveIsa() >= Isa::kAvx512Bf16;
}

void Attend(const AttentionCall& call) {
  if (call.shape.type == KvType::kInt8) {
    AttendInt8(call);
  } else if (RoundsQueries(call.shape.type) && !call.shape.values_are_keys) {
    AttendBf16(call);
  } else {
    HWY_DYNAMIC_DISPATCH(AttendFloats)(call);
  }
}

}  // namespace trivium
#endif  // HWY_ONCE
