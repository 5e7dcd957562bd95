#include "model/kernels/relative_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/relative_attention.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The scores of one query. Absent tables are not read.
template <bool kPositionKey, bool kPositionQuery>
HWY_INLINE void ScoreKeys(const RelativeAttentionCall& call, int i,
                          float* HWY_RESTRICT scores) {
  const F32 d;
  const float* query = call.query + i * call.stride;
  for (int j = 0; j < call.tokens; ++j) {
    const int32_t x = call.row[i - j];
    const float* key = call.key + j * call.stride;
    const float* position_key = call.position_key + x * call.position_stride;
    const float* position_query =
        call.position_query + x * call.position_stride;
    auto sum = hn::Zero(d);
    ForEachVector(d, call.head_size, [&](int at, auto some) HWY_ATTR {
      const auto k = some.Load(d, key + at);
      auto other = k;
      if constexpr (kPositionKey) {
        other = hn::Add(k, some.Load(d, position_key + at));
      }
      sum = hn::MulAdd(some.Load(d, query + at), other, sum);
      if constexpr (kPositionQuery) {
        sum = hn::MulAdd(k, some.Load(d, position_query + at), sum);
      }
    });
    scores[j] = hn::GetLane(hn::SumOfLanes(d, sum)) * call.scale;
    if (call.bias != nullptr) scores[j] += call.bias[x];
  }
}

HWY_INLINE void SoftmaxRow(int n, float* HWY_RESTRICT row) {
  const F32 d;
  float most = row[0];
  for (int i = 1; i < n; ++i) most = row[i] > most ? row[i] : most;
  auto sum = hn::Zero(d);
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto e = Exp(d, hn::Sub(some.Load(d, row + i), hn::Set(d, most)));
    sum = hn::Add(sum, some.Mask(d, e));
    some.Store(e, d, row + i);
  });
  const auto inverse = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, sum));
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    some.Store(hn::Mul(some.Load(d, row + i), inverse), d, row + i);
  });
}

HWY_INLINE void WeighValues(const RelativeAttentionCall& call, int i,
                            const float* HWY_RESTRICT weights) {
  const F32 d;
  float* out = call.out + i * call.out_stride;
  ForEachVector(d, call.head_size, [&](int at, auto some) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int j = 0; j < call.tokens; ++j) {
      sum = hn::MulAdd(hn::Set(d, weights[j]),
                       some.Load(d, call.value + j * call.stride + at), sum);
    }
    some.Store(sum, d, out + at);
  });
}

template <bool kPositionKey, bool kPositionQuery>
HWY_INLINE void AttendQueries(const RelativeAttentionCall& call) {
  for (int i = 0; i < call.tokens; ++i) {
    float* weights = call.weights + i * call.weights_stride;
    ScoreKeys<kPositionKey, kPositionQuery>(call, i, weights);
    SoftmaxRow(call.tokens, weights);
    WeighValues(call, i, weights);
  }
}

void AttendRelative(const RelativeAttentionCall& call) {
  const bool query = call.position_query != nullptr;
  if (call.position_key != nullptr) {
    query ? AttendQueries<true, true>(call) : AttendQueries<true, false>(call);
  } else {
    query ? AttendQueries<false, true>(call)
          : AttendQueries<false, false>(call);
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
