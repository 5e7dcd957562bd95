// What attention over tiles of all types shares. Compiled once for each target,
// hence the toggled guard.
#if defined(TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
#undef TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
#endif

#include <cstddef>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "model/kernels/attention.h"
#include "model/kernels/vector-inl.h"

// Of loops over arrays of vectors, which must become registers.
#undef TRIVIUM_UNROLL
#define TRIVIUM_UNROLL HWY_UNROLL(8)

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// weights = exp(weights - max) over the first `keys`, and zero up to the end of
// their last vector; returns 1 / their sum.
HWY_INLINE float Exponentials(int keys, float* HWY_RESTRICT weights) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int last = (keys - 1) / lanes * lanes;
  const auto valid = hn::FirstN(d, static_cast<size_t>(keys - last));
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto max = hn::IfThenElse(valid, hn::LoadU(d, weights + last), least);
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

// Where one head's part of the queries, weights and outputs begins; a query's
// weights are PaddedKeys(keys) behind those of the query before.
struct HeadCall {
  int head;
  const float* query;
  float* weights;
  float* out;
};

// Makes the scores of kQueries queries of `count` heads weights, but for the
// factor `inverse`, [count][kQueries], which is left to whoever uses them.
template <int kQueries>
HWY_INLINE void Softmax(int keys, const HeadCall* heads, int count,
                        float (*inverse)[kQueries]) {
  const int padded = PaddedKeys(keys);
  for (int h = 0; h < count; ++h) {
    TRIVIUM_UNROLL
    for (int q = 0; q < kQueries; ++q) {
      inverse[h][q] = Exponentials(keys, heads[h].weights + q * padded);
    }
  }
}

// Makes the weights of kQueries queries sum to 1, for keep_weights.
template <int kQueries>
HWY_INLINE void Normalize(const AttentionCall& call, const float* inverse,
                          float* weights) {
  const int padded = PaddedKeys(call.keys);
  for (int q = 0; q < kQueries; ++q, weights += padded) {
    for (int i = 0; i < call.keys; ++i) weights[i] *= inverse[q];
    for (int i = call.keys; i < padded; ++i) weights[i] = 0;
  }
}

// A number that the callee of a generic function knows when it is compiled.
template <int kValue>
using Constant = std::integral_constant<int, kValue>;

// Calls attend(Constant<kQueries>, heads, count) for all heads of kQueries
// queries from `first` on.
template <int kQueries, class F>
HWY_INLINE void ForHeads(const AttentionCall& call, int first, F attend) {
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
    attend(Constant<kQueries>(), heads, count);
  }
}

// For all heads of all queries: four queries at a time while there are as many,
// and several heads, which do not wait for each other's sums, so that one hides
// another's latency.
template <class F>
HWY_INLINE void ForQueriesAndHeads(const AttentionCall& call, F attend) {
  int q = 0;
  for (; q + 4 <= call.queries; q += 4) ForHeads<4>(call, q, attend);
  for (; q < call.queries; ++q) ForHeads<1>(call, q, attend);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_INL_H_
