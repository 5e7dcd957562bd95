// Attention with relative positions; see the header for the equation. The
// obvious way, a [tokens, tokens] matrix of position scores, would read a
// different table column for each (i, j) pair. Instead up to kQueriesAtOnce
// queries are computed together, and query i + q is scored against the keys
// from first + q on. All of these pairs have the same distance, so one vector
// of each table serves all queries. Keys are first transposed to [head_size]
// rows, with zeros around them for the keys that staggered queries read before
// the first and after the last.
#include "model/kernels/relative_attention.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/relative_attention.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Unrolls loops over arrays of vectors, which must become registers.
#define TRIVIUM_UNROLL HWY_UNROLL(8)

// Queries per pass: as many as registers allow.
#if HWY_TARGET <= HWY_AVX3
constexpr int kQueriesAtOnce = kRelativeQueries;
#else
constexpr int kQueriesAtOnce = kRelativeQueries / 2;
#endif
// Number of zeros before the first key of a dimension.
constexpr int kLead = kRelativeQueries - 1;

// Transposes the keys to [head_size] rows, with zeros on both sides.
HWY_INLINE void PackKeys(const RelativeAttentionCall& call, size_t stride,
                         float* HWY_RESTRICT keys) {
  for (int at = 0; at < call.head_size; ++at) {
    float* row = keys + at * stride;
    std::fill_n(row, kLead, 0.0f);
    std::fill(row + kLead + call.tokens, row + stride, 0.0f);
  }
  for (int j = 0; j < call.tokens; ++j) {
    const float* key = call.key + j * call.stride;
    for (int at = 0; at < call.head_size; ++at) {
      keys[at * stride + kLead + j] = key[at];
    }
  }
}

// Computes the scores of queries i, i + 1, ... with one vector of keys each.
// Query i + q is scored with the keys from first + q on, which are all at the
// same distance. Absent tables are not read.
template <int kQueries, bool kKey, bool kQuery>
HWY_INLINE void ScoreVector(const RelativeAttentionCall& call, int i, int first,
                            const float* HWY_RESTRICT keys, size_t stride,
                            float* HWY_RESTRICT scores) {
  const F32 d;
  using V = hn::Vec<F32>;
  const RelativeTables& tables = call.tables;
  const float* query = call.query + i * call.stride;
  const int column = first - i + tables.positions - 1;
  V sum[kQueries], from_key[kQueries];
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) sum[q] = from_key[q] = hn::Zero(d);
  for (int at = 0; at < call.head_size; ++at) {
    const float* row = keys + at * stride + kLead + first;
    V position_key = hn::Zero(d), position_query = hn::Zero(d);
    if constexpr (kKey) {
      position_key = hn::LoadU(d, tables.key + at * tables.stride + column);
    }
    if constexpr (kQuery) {
      position_query = hn::LoadU(d, tables.query + at * tables.stride + column);
    }
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      const V k = hn::LoadU(d, row + q);
      const V other = kKey ? hn::Add(k, position_key) : k;
      sum[q] =
          hn::MulAdd(hn::Set(d, query[q * call.stride + at]), other, sum[q]);
      if constexpr (kQuery) {
        from_key[q] = hn::MulAdd(k, position_query, from_key[q]);
      }
    }
  }
  const auto scale = hn::Set(d, call.scale);
  TRIVIUM_UNROLL
  for (int q = 0; q < kQueries; ++q) {
    if constexpr (kQuery) sum[q] = hn::Add(sum[q], from_key[q]);
    hn::StoreU(hn::Mul(sum[q], scale), d,
               scores + q * stride + kLead + first + q);
  }
}

HWY_INLINE void SoftmaxRow(int n, float* HWY_RESTRICT row) {
  const F32 d;
  auto most = hn::Set(d, row[0]);
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    most = hn::Max(most, some.MaskOr(d, some.Load(d, row + i), most));
  });
  most = hn::MaxOfLanes(d, most);
  RowSum sum;
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto e = Exp(d, hn::Sub(some.Load(d, row + i), most));
    auto& place = PlaceOf(some, sum);
    place = hn::Add(place, some.Mask(d, e));
    some.Store(e, d, row + i);
  });
  const auto inverse = hn::Set(d, 1.0f / sum.Get());
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    some.Store(hn::Mul(some.Load(d, row + i), inverse), d, row + i);
  });
}

// Computes out = weights V of queries i, i + 1, ...
template <int kQueries>
HWY_INLINE void WeighValues(const RelativeAttentionCall& call, int i,
                            const float* HWY_RESTRICT weights, size_t stride) {
  const F32 d;
  using V = hn::Vec<F32>;
  float* out = call.out + i * call.out_stride;
  ForEachVector(d, call.head_size, [&](int at, auto some) HWY_ATTR {
    V sum[kQueries][2];  // even and odd keys
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) sum[q][0] = sum[q][1] = hn::Zero(d);
    const auto add = [&](int j, int turn) HWY_ATTR {
      const V value = some.Load(d, call.value + j * call.stride + at);
      TRIVIUM_UNROLL
      for (int q = 0; q < kQueries; ++q) {
        sum[q][turn] = hn::MulAdd(hn::Set(d, weights[q * stride + j]), value,
                                  sum[q][turn]);
      }
    };
    int j = 0;
    for (; j + 2 <= call.tokens; j += 2) {
      add(j, 0);
      add(j + 1, 1);
    }
    if (j < call.tokens) add(j, 0);
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      some.Store(hn::Add(sum[q][0], sum[q][1]), d,
                 out + q * call.out_stride + at);
    }
  });
}

// Computes the outputs of queries i, i + 1, ...
template <int kQueries, bool kKey, bool kQuery>
HWY_INLINE void AttendQueries(const RelativeAttentionCall& call, int i,
                              const float* keys, size_t stride,
                              float* weights) {
  const int lanes = static_cast<int>(hn::Lanes(F32()));
  for (int first = 1 - kQueries; first < call.tokens; first += lanes) {
    ScoreVector<kQueries, kKey, kQuery>(call, i, first, keys, stride, weights);
  }
  weights += kLead;
  for (int q = 0; q < kQueries; ++q) {
    float* row = weights + q * stride;
    SoftmaxRow(call.tokens, row);
    if (call.weights != nullptr) {
      std::copy_n(row, call.tokens,
                  call.weights + static_cast<size_t>(i + q) * call.tokens);
    }
  }
  WeighValues<kQueries>(call, i, weights, stride);
}

template <bool kKey, bool kQuery>
HWY_INLINE void AttendAll(const RelativeAttentionCall& call) {
  const size_t stride = RelativeKeyStride(call.tokens);
  float* keys = call.scratch;
  float* weights = keys + call.head_size * stride;
  PackKeys(call, stride, keys);
  int i = 0;
  for (; i + kQueriesAtOnce <= call.tokens; i += kQueriesAtOnce) {
    AttendQueries<kQueriesAtOnce, kKey, kQuery>(call, i, keys, stride, weights);
  }
  for (; i < call.tokens; ++i) {
    AttendQueries<1, kKey, kQuery>(call, i, keys, stride, weights);
  }
}

void AttendRelative(const RelativeAttentionCall& call) {
  const bool query = call.tables.query != nullptr;
  if (call.tables.key != nullptr) {
    query ? AttendAll<true, true>(call) : AttendAll<true, false>(call);
  } else {
    query ? AttendAll<false, true>(call) : AttendAll<false, false>(call);
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AttendRelative);

void AttendRelative(const RelativeAttentionCall& call) {
  HWY_DYNAMIC_DISPATCH(AttendRelative)(call);
}

}  // namespace trivium
#endif  // HWY_ONCE
