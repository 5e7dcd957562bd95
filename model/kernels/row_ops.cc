#include "model/kernels/row_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/row_ops.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

RowScale QuantizeRow(const float* HWY_RESTRICT x, int n, int levels,
                     uint8_t* HWY_RESTRICT q) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto low = hn::Zero(d), high = hn::Zero(d);
  int i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  if (i < n) {
    const auto v = LoadSome(d, x + i, n - i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  const float min = hn::GetLane(hn::MinOfLanes(d, low));
  const float max = hn::GetLane(hn::MaxOfLanes(d, high));
  const float range = max - min;
  const float inverse = range > 0 ? levels / range : 0.0f;
  const auto vector_inverse = hn::Set(d, inverse);
  const auto zero = hn::NearestInt(hn::Mul(hn::Set(d, -min), vector_inverse));

  const hn::RebindToSigned<F32> d32;
  const hn::Rebind<uint8_t, F32> d8;
  const auto most = hn::Set(d32, levels);
  const auto quantize = [&](auto v) HWY_ATTR {
    const auto rounded =
        hn::Add(hn::NearestInt(hn::Mul(v, vector_inverse)), zero);
    return hn::DemoteTo(d8, hn::Min(rounded, most));  // saturates at 0
  };
  for (i = 0; i + lanes <= n; i += lanes) {
    hn::StoreU(quantize(hn::LoadU(d, x + i)), d8, q + i);
  }
  if (i < n) {
    HWY_ALIGN uint8_t last[64];
    hn::StoreU(quantize(LoadSome(d, x + i, n - i)), d8, last);
    for (int j = 0; i + j < n; ++j) q[i + j] = last[j];
  }
  return {range / levels, hn::GetLane(zero)};
}

void Bf16Row(const float* HWY_RESTRICT x, int n, uint16_t* HWY_RESTRICT y) {
  for (int i = 0; i < n; ++i) y[i] = RoundToBf16(x[i]);
}

void DequantizeRow(const int32_t* HWY_RESTRICT sum, RowScale x,
                   const float* HWY_RESTRICT w_scale,
                   const int32_t* HWY_RESTRICT w_sum,
                   const float* HWY_RESTRICT bias, int n,
                   float* HWY_RESTRICT y) {
  const F32 d;
  const hn::RebindToSigned<F32> d32;
  const auto scale = hn::Set(d, x.scale);
  const auto zero = hn::Set(d32, x.zero);
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto exact = hn::Sub(some.Load(d32, sum + i),
                               hn::Mul(zero, some.Load(d32, w_sum + i)));
    const auto b = bias == nullptr ? hn::Zero(d) : some.Load(d, bias + i);
    const auto scales = hn::Mul(scale, some.Load(d, w_scale + i));
    some.Store(hn::MulAdd(hn::ConvertTo(d, exact), scales, b), d, y + i);
  });
}

void AddRow(const float* HWY_RESTRICT x, int n, float* HWY_RESTRICT y) {
  const F32 d;
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    some.Store(hn::Add(some.Load(d, y + i), some.Load(d, x + i)), d, y + i);
  });
}

// erf by Abramowitz and Stegun 7.1.26; absolute error below 1.5e-7.
template <class D, class V>
HWY_INLINE V Erf(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V a = hn::Abs(x);
  const V t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3275911f), a, one));
  V p = hn::Set(d, 1.061405429f);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592f));
  const V e = hn::Exp(d, hn::Neg(hn::Mul(a, a)));
  return hn::CopySign(hn::NegMulAdd(hn::Mul(p, t), e, one), x);
}

template <class F>
HWY_INLINE void Map(int n, float* HWY_RESTRICT y, F function) {
  const F32 d;
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    some.Store(function(d, some.Load(d, y + i)), d, y + i);
  });
}

void ActivateRow(Activation activation, int n, float* HWY_RESTRICT y) {
  switch (activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return Map(n, y, [](auto d, auto x) HWY_ATTR {
        return hn::Max(x, hn::Zero(d));
      });
    case Activation::kGelu:
      return Map(n, y, [](auto d, auto x) HWY_ATTR {
        const auto half = hn::Mul(hn::Set(d, 0.5f), x);
        const auto erf = Erf(d, hn::Mul(x, hn::Set(d, 0.70710678f)));
        return hn::MulAdd(half, erf, half);
      });
    case Activation::kGeluTanh:
      return Map(n, y, [](auto d, auto x) HWY_ATTR {
        // x/2 (1 + tanh u) = x / (1 + exp(-2u))
        const auto one = hn::Set(d, 1.0f);
        const auto square = hn::Mul(x, x);
        const auto u =
            hn::Mul(hn::Set(d, -1.59576912f),
                    hn::Mul(x, hn::MulAdd(square, hn::Set(d, 0.044715f), one)));
        return hn::Div(x, hn::Add(one, hn::Exp(d, Clamp(d, u))));
      });
    case Activation::kSwish:
      return Map(n, y, [](auto d, auto x) HWY_ATTR {
        const auto e = hn::Exp(d, Clamp(d, hn::Neg(x)));
        return hn::Div(x, hn::Add(hn::Set(d, 1.0f), e));
      });
    case Activation::kTanh:
      return Map(n, y, [](auto d, auto x) HWY_ATTR { return hn::Tanh(d, x); });
  }
}

// y may be x or residual, so these are not HWY_RESTRICT.
void AddNormRow(const float* x, const float* residual,
                const float* HWY_RESTRICT gamma, const float* HWY_RESTRICT beta,
                float epsilon, int n, float* y) {
  const F32 d;
  auto sum = hn::Zero(d);
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    auto s = some.Load(d, x + i);
    if (residual != nullptr) s = hn::Add(s, some.Load(d, residual + i));
    sum = hn::Add(sum, s);
    some.Store(s, d, y + i);
  });
  const auto mean =
      hn::Div(hn::SumOfLanes(d, sum), hn::Set(d, static_cast<float>(n)));
  auto squares = hn::Zero(d);
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto centred = some.Mask(d, hn::Sub(some.Load(d, y + i), mean));
    squares = hn::MulAdd(centred, centred, squares);
  });
  const auto variance =
      hn::Div(hn::SumOfLanes(d, squares), hn::Set(d, static_cast<float>(n)));
  const auto inverse = hn::Div(
      hn::Set(d, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(d, epsilon))));
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(some.Load(d, y + i), mean), inverse);
    some.Store(
        hn::MulAdd(normal, some.Load(d, gamma + i), some.Load(d, beta + i)), d,
        y + i);
  });
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(QuantizeRow);
HWY_EXPORT(Bf16Row);
HWY_EXPORT(DequantizeRow);
HWY_EXPORT(AddRow);
HWY_EXPORT(ActivateRow);
HWY_EXPORT(AddNormRow);

RowScale QuantizeRow(const float* x, int n, int levels, uint8_t* q) {
  return HWY_DYNAMIC_DISPATCH(QuantizeRow)(x, n, levels, q);
}
void Bf16Row(const float* x, int n, uint16_t* y) {
  HWY_DYNAMIC_DISPATCH(Bf16Row)(x, n, y);
}
void DequantizeRow(const int32_t* sum, RowScale x, const float* w_scale,
                   const int32_t* w_sum, const float* bias, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(DequantizeRow)(sum, x, w_scale, w_sum, bias, n, y);
}
void AddRow(const float* x, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(AddRow)(x, n, y);
}
void ActivateRow(Activation activation, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(ActivateRow)(activation, n, y);
}
void AddNormRow(const float* x, const float* residual, const float* gamma,
                const float* beta, float epsilon, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(AddNormRow)(x, residual, gamma, beta, epsilon, n, y);
}

}  // namespace trivium
#endif  // HWY_ONCE
