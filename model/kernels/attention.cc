#include "model/kernels/attention.h"

#include "model/kernels/runtime.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/highway.h"
#include "model/kernels/attention-inl.h"
#include "model/kernels/kv_tile-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Scores of kQueries queries against one vector of a tile's tokens, from `lane`
// on. T is the type of a tile's numbers: float, or uint16_t for bf16. Four
// chains of additions (pairs by turns, first and second of a pair) hide more
// latency than one; their order is the same for every kQueries.
template <int kQueries, class T>
HWY_INLINE void ScoreVector(const AttentionCall& call, const float* query,
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
      const float* row = query + q * call.query_stride + 2 * pair;
      sum[q][turn][0] = hn::MulAdd(hn::Set(d, row[0]), first, sum[q][turn][0]);
      sum[q][turn][1] = hn::MulAdd(hn::Set(d, row[1]), second, sum[q][turn][1]);
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
      const float last = query[q * call.query_stride + 2 * whole];
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

// out = scale * weights V for kQueries queries, a vector's lanes of each of
// kGroups groups of 16 dimensions. A tile has the head's values at
// `value_offset`. Even and odd keys are summed apart, as above.
template <int kQueries, int kGroups, class T>
HWY_INLINE void WeighValues(const AttentionCall& call, int value_offset,
                            int group, int lane,
                            const float* HWY_RESTRICT weights, size_t stride,
                            const float* HWY_RESTRICT scale, float* out) {
  const F32 d;
  using V = hn::Vec<F32>;
  V even[kQueries][kGroups], odd[kQueries][kGroups];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) even[q][g] = odd[q][g] = hn::Zero(d);
  }
  const int row_numbers = Groups(call.shape.head_size) * kPairRow;
  for (int begin = 0; begin < call.keys; begin += kTileTokens) {
    const T* row = reinterpret_cast<const T*>(call.tiles[begin / kTileTokens]) +
                   value_offset;
    const int end =
        call.keys < begin + kTileTokens ? call.keys : begin + kTileTokens;
    for (int key = begin; key < end; key += 2, row += row_numbers) {
      TRIVIUM_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        V first, second;
        LoadPairs(d, row + (group + g) * kPairRow, lane, first, second);
        TRIVIUM_UNROLL
        for (int q = 0; q < kQueries; ++q) {
          const float* weight = weights + q * stride + key;
          even[q][g] = hn::MulAdd(hn::Set(d, weight[0]), first, even[q][g]);
          // What lies behind the last key may be anything.
          if (key + 1 == end) continue;
          odd[q][g] = hn::MulAdd(hn::Set(d, weight[1]), second, odd[q][g]);
        }
      }
    }
  }
  const int lanes = static_cast<int>(hn::Lanes(d));
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int begin = (group + g) * kPairLanes + lane;
      const int left = call.shape.head_size - begin;
      if (left <= 0) continue;
      float* to = out + q * call.out_stride + begin;
      const V y = hn::Mul(hn::Add(even[q][g], odd[q][g]), hn::Set(d, scale[q]));
      if (left >= lanes) {
        hn::StoreU(y, d, to);
      } else {
        hn::BlendedStore(y, hn::FirstN(d, static_cast<size_t>(left)), d, to);
      }
    }
  }
}

// The three steps of attention, for several heads a step: heads do not wait
// for each other's sums, so that one hides another's latency.
template <int kQueries, class T>
HWY_INLINE void AttendHeads(const AttentionCall& call, const HeadCall* heads,
                            int count) {
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  const int head_size = call.shape.head_size;
  const int padded = PaddedKeys(call.keys);
  for (int begin = 0; begin < padded; begin += kTileTokens) {
    const T* tile = reinterpret_cast<const T*>(call.tiles[begin / kTileTokens]);
    for (int h = 0; h < count; ++h) {
      const T* keys = tile + heads[h].head * KeyNumbers(head_size);
      for (int lane = 0; lane < kTileTokens; lane += lanes) {
        ScoreVector<kQueries>(call, heads[h].query, keys, lane,
                              heads[h].weights + begin + lane, padded);
      }
    }
  }
  float inverse[kHeadsAtOnce][kQueries];
  Softmax<kQueries>(call.keys, heads, count, inverse);
  const int groups = Groups(head_size);
  constexpr int kGroups = kQueries == 1 ? 4 : 2;
  for (int h = 0; h < count; ++h) {
    const int offset = call.shape.heads * KeyNumbers(head_size) +
                       heads[h].head * ValueNumbers(head_size);
    for (int lane = 0; lane < kPairLanes; lane += lanes) {
      int group = 0;
      for (; group + kGroups <= groups; group += kGroups) {
        WeighValues<kQueries, kGroups, T>(call, offset, group, lane,
                                          heads[h].weights, padded, inverse[h],
                                          heads[h].out);
      }
      for (; group < groups; ++group) {
        WeighValues<kQueries, 1, T>(call, offset, group, lane, heads[h].weights,
                                    padded, inverse[h], heads[h].out);
      }
    }
  }
  if (call.keep_weights) {
    for (int h = 0; h < count; ++h) {
      Normalize<kQueries>(call, inverse[h], heads[h].weights);
    }
  }
}

template <class T>
HWY_INLINE void AttendTyped(const AttentionCall& call) {
  ForQueriesAndHeads(
      call, [&](auto queries, const HeadCall* heads, int count) HWY_ATTR {
        AttendHeads<decltype(queries)::value, T>(call, heads, count);
      });
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

HWY_EXPORT(AttendFloats);

// In attention_int8.cc and attention_bf16.cc.
void AttendInt8(const AttentionCall& call);
void AttendBf16(const AttentionCall& call);

bool RoundsQueries(KvType type) {
  return type == KvType::kBf16 && ActiveIsa() >= Isa::kAvx512Bf16;
}

void Attend(const AttentionCall& call) {
  if (call.shape.type == KvType::kInt8) {
    AttendInt8(call);
  } else if (RoundsQueries(call.shape.type)) {
    AttendBf16(call);
  } else {
    HWY_DYNAMIC_DISPATCH(AttendFloats)(call);
  }
}

}  // namespace trivium
#endif  // HWY_ONCE
