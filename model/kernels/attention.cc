#include "model/kernels/attention.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/highway.h"
#include "model/kernels/kv_tile-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Of loops over arrays of vectors, which must become registers.
#define TRIVIUM_UNROLL HWY_UNROLL(8)

// Scores of kQueries queries against one vector of a tile's tokens. Four
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

// weights = exp(weights - max) over the first `keys`, zero beyond; returns
// 1 / their sum.
HWY_INLINE float Exponentials(int keys, float* HWY_RESTRICT weights) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int last = (keys - 1) / lanes * lanes;
  const auto valid = hn::FirstN(d, static_cast<size_t>(keys - last));
  const auto infinity = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto max = hn::IfThenElse(valid, hn::LoadU(d, weights + last), infinity);
  for (int i = 0; i < last; i += lanes) {
    max = hn::Max(max, hn::LoadU(d, weights + i));
  }
  max = hn::MaxOfLanes(d, max);
  auto sum = hn::Zero(d);
  for (int i = 0; i < last; i += lanes) {
    const auto e = Exp(d, hn::Sub(hn::LoadU(d, weights + i), max));
    sum = hn::Add(sum, e);
    hn::StoreU(e, d, weights + i);
  }
  const auto e = hn::IfThenElseZero(
      valid, Exp(d, hn::Sub(hn::LoadU(d, weights + last), max)));
  hn::StoreU(e, d, weights + last);
  return 1.0f / hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, e)));
}

// out = scale * weights V for kQueries queries and kGroups groups of
// dimensions from `group`. Even and odd keys are summed apart, as above.
template <int kQueries, int kGroups, class T>
HWY_INLINE void WeighValues(const AttentionCall& call, int value_offset,
                            int group, int lane,
                            const float* HWY_RESTRICT weights, size_t stride,
                            const float* HWY_RESTRICT scale, float* out) {
  const F32 d;
  using V = hn::Vec<F32>;
  V sum[kQueries][kGroups][2][2];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      sum[q][g][0][0] = sum[q][g][0][1] = hn::Zero(d);
      sum[q][g][1][0] = sum[q][g][1][1] = hn::Zero(d);
    }
  }
  const int row_numbers = Groups(call.shape.head_size) * kGroup;
  const auto add = [&](const T* row, int key, int turn) HWY_ATTR {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      V first, second;
      LoadPairs(d, row + (group + g) * kGroup, lane, first, second);
      TRIVIUM_UNROLL
      for (int q = 0; q < kQueries; ++q) {
        const V weight = hn::Set(d, weights[q * stride + key]);
        sum[q][g][turn][0] = hn::MulAdd(weight, first, sum[q][g][turn][0]);
        sum[q][g][turn][1] = hn::MulAdd(weight, second, sum[q][g][turn][1]);
      }
    }
  };
  for (int begin = 0; begin < call.keys; begin += kTileTokens) {
    const T* row = reinterpret_cast<const T*>(call.tiles[begin / kTileTokens]) +
                   value_offset;
    const int end =
        call.keys < begin + kTileTokens ? call.keys : begin + kTileTokens;
    int key = begin;
    for (; key + 2 <= end; key += 2, row += 2 * row_numbers) {
      add(row, key, 0);
      add(row + row_numbers, key + 1, 1);
    }
    if (key < end) add(row, key, 0);
  }
  const int lanes = static_cast<int>(hn::Lanes(d));
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    TRIVIUM_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      TRIVIUM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int begin = (group + g) * kGroup + half * kPairLanes + lane;
        const int left = call.shape.head_size - begin;
        if (left <= 0) continue;
        float* to = out + q * call.out_stride + begin;
        const V y = hn::Mul(hn::Add(sum[q][g][0][half], sum[q][g][1][half]),
                            hn::Set(d, scale[q]));
        if (left >= lanes) {
          hn::StoreU(y, d, to);
        } else {
          hn::BlendedStore(y, hn::FirstN(d, static_cast<size_t>(left)), d, to);
        }
      }
    }
  }
}

// Where one head's queries, weights and outputs begin.
struct HeadCall {
  int head;
  const float* query;
  float* weights;
  float* out;
};

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
  for (int h = 0; h < count; ++h) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      inverse[h][q] = Exponentials(call.keys, heads[h].weights + q * padded);
    }
  }
  const int groups = Groups(head_size);
  for (int h = 0; h < count; ++h) {
    const int offset = call.shape.heads * KeyNumbers(head_size) +
                       heads[h].head * ValueNumbers(head_size);
    for (int lane = 0; lane < kPairLanes; lane += lanes) {
      int group = 0;
      if (kQueries == 1) {
        for (; group + 2 <= groups; group += 2) {
          WeighValues<kQueries, 2, T>(call, offset, group, lane,
                                      heads[h].weights, padded, inverse[h],
                                      heads[h].out);
        }
      }
      for (; group < groups; ++group) {
        WeighValues<kQueries, 1, T>(call, offset, group, lane, heads[h].weights,
                                    padded, inverse[h], heads[h].out);
      }
    }
  }
  if (!call.keep_weights) return;
  for (int h = 0; h < count; ++h) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      float* weights = heads[h].weights + q * padded;
      for (int i = 0; i < call.keys; ++i) weights[i] *= inverse[h][q];
      for (int i = call.keys; i < padded; ++i) weights[i] = 0;
    }
  }
}

template <int kQueries, class T>
HWY_INLINE void AttendQueries(const AttentionCall& call, int first) {
  const size_t padded = PaddedKeys(call.keys);
  const int at_once = HeadsAtOnce(call.queries);
  HeadCall heads[kHeadsAtOnce] = {};
  for (int head = 0; head < call.shape.heads;) {
    int count = 0;
    for (; count < at_once && head < call.shape.heads; ++count, ++head) {
      const int place = call.keep_weights ? head : count;
      const int offset = head * call.shape.head_size;
      heads[count] = {head, call.query + first * call.query_stride + offset,
                      call.weights + (place * call.queries + first) * padded,
                      call.out + first * call.out_stride + offset};
    }
    AttendHeads<kQueries, T>(call, heads, count);
  }
}

template <class T>
HWY_INLINE void AttendTyped(const AttentionCall& call) {
  int q = 0;
  for (; q + 4 <= call.queries; q += 4) AttendQueries<4, T>(call, q);
  for (; q < call.queries; ++q) AttendQueries<1, T>(call, q);
}

void AttendAll(const AttentionCall& call) {
  if (call.shape.type == KvType::kF32) {
    AttendTyped<float>(call);
  } else {
    AttendTyped<uint16_t>(call);
  }
}

#undef TRIVIUM_UNROLL

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AttendAll);

void Attend(const AttentionCall& call) {
  HWY_DYNAMIC_DISPATCH(AttendAll)(call);
}

}  // namespace trivium
#endif  // HWY_ONCE
