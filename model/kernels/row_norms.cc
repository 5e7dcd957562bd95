// LayerNorm and RMSNorm of a row and its residual. Sums are added up in an
// order that depends on the length alone (RowSum).
#include "model/kernels/row_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/row_norms.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/product_row-inl.h"
#include "model/kernels/range-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sets y = the row's floats + residual, and passes each vector to
// sink(WholeVector or PartVector, vector), too.
template <class Sink>
HWY_INLINE void AddResidual(const ProductRow& x, const float* residual,
                            float* y, Sink sink) {
  const F32 d;
  ForEachNumber(x, [&](int i, auto some, hn::Vec<F32> s) TRIVIUM_INLINE_LAMBDA {
    if (residual != nullptr) s = hn::Add(s, some.Load(d, residual + i));
    sink(some, s);
    some.Store(s, d, y + i);
  });
}

// Returns 1 / sqrt(mean of squares + epsilon); `share` is 1 / count.
HWY_INLINE hn::Vec<F32> InverseRoot(const RowSum& squares, hn::Vec<F32> share,
                                    float epsilon) {
  const F32 d;
  const auto mean = hn::Mul(hn::Set(d, squares.Get()), share);
  return hn::Div(hn::Set(d, 1.0f),
                 hn::Sqrt(hn::Add(mean, hn::Set(d, epsilon))));
}

// y may be the row or the residual, so these are not HWY_RESTRICT.
template <bool kBeta>
HWY_INLINE Range AddNorm(const ProductRow& x, const float* residual,
                         const float* HWY_RESTRICT gamma,
                         const float* HWY_RESTRICT beta, float epsilon,
                         float* y) {
  const F32 d;
  const int n = x.n;
  const auto share = hn::Set(d, 1.0f / static_cast<float>(n));
  RowSum sum;
  AddResidual(x, residual, y,
              [&](auto some, hn::Vec<F32> s) TRIVIUM_INLINE_LAMBDA {
                auto& place = PlaceOf(some, sum);
                place = hn::Add(place, s);
              });
  const auto mean = hn::Mul(hn::Set(d, sum.Get()), share);
  RowSum squares;
  ForEachVector(d, n, [&](int i, auto some) TRIVIUM_INLINE_LAMBDA {
    const auto centred = some.Mask(d, hn::Sub(some.Load(d, y + i), mean));
    auto& place = PlaceOf(some, squares);
    place = hn::MulAdd(centred, centred, place);
  });
  const auto inverse = InverseRoot(squares, share, epsilon);
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(d, n, [&](int i, auto some) TRIVIUM_INLINE_LAMBDA {
    const auto normal = hn::Mul(hn::Sub(some.Load(d, y + i), mean), inverse);
    const auto factor = some.Load(d, gamma + i);
    const auto result = kBeta
                            ? hn::MulAdd(normal, factor, some.Load(d, beta + i))
                            : hn::Mul(normal, factor);
    range.Add(result);  // gamma and beta load zeros beyond the end
    some.Store(result, d, y + i);
  });
  return range.Get();
}

Range AddNormRow(const ProductRow& x, const float* residual, const float* gamma,
                 const float* beta, float epsilon, float* y) {
  return beta == nullptr ? AddNorm<false>(x, residual, gamma, beta, epsilon, y)
                         : AddNorm<true>(x, residual, gamma, beta, epsilon, y);
}

Range AddRmsNormRow(const ProductRow& x, const float* residual,
                    const float* HWY_RESTRICT gamma, float epsilon, float* y) {
  const F32 d;
  RowSum squares;
  AddResidual(x, residual, y,
              [&](auto some, hn::Vec<F32> s) TRIVIUM_INLINE_LAMBDA {
                auto& place = PlaceOf(some, squares);
                place = hn::MulAdd(s, s, place);
              });
  const auto inverse =
      InverseRoot(squares, hn::Set(d, 1.0f / static_cast<float>(x.n)), epsilon);
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(d, x.n, [&](int i, auto some) TRIVIUM_INLINE_LAMBDA {
    const auto result =
        hn::Mul(hn::Mul(some.Load(d, y + i), inverse), some.Load(d, gamma + i));
    range.Add(result);
    some.Store(result, d, y + i);
  });
  return range.Get();
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AddNormRow);
HWY_EXPORT(AddRmsNormRow);

Range AddNormRow(const ProductRow& x, const float* residual, const float* gamma,
                 const float* beta, float epsilon, float* y) {
  return HWY_DYNAMIC_DISPATCH(AddNormRow)(x, residual, gamma, beta, epsilon, y);
}
Range AddRmsNormRow(const ProductRow& x, const float* residual,
                    const float* gamma, float epsilon, float* y) {
  return HWY_DYNAMIC_DISPATCH(AddRmsNormRow)(x, residual, gamma, epsilon, y);
}

}  // namespace trivium
#endif  // HWY_ONCE
