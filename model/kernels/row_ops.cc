#include "model/kernels/row_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/row_ops.cc"
#include "hwy/foreach_target.h"
// Highway asks for this order.
#include "hwy/highway.h"
#include "model/kernels/product_row-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Keeps the least and the greatest of the vectors it has seen, and 0.
struct RangeVectors {
  hn::Vec<F32> low, high;

  // Lanes beyond a row's end are zero.
  HWY_INLINE void Add(hn::Vec<F32> v) {
    low = hn::Min(low, v);
    high = hn::Max(high, v);
  }
  HWY_INLINE Range Get() const {
    const F32 d;
    return {hn::GetLane(hn::MinOfLanes(d, low)),
            hn::GetLane(hn::MaxOfLanes(d, high))};
  }
};

Range RangeOf(const float* HWY_RESTRICT x, int n) {
  const F32 d;
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(
      d, n, [&](int i, auto some) HWY_ATTR { range.Add(some.Load(d, x + i)); });
  return range.Get();
}

RowScale QuantizeRow(const float* HWY_RESTRICT x, int n, Range range,
                     int levels, uint8_t* HWY_RESTRICT q) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const float width = range.high - range.low;
  const float inverse = width > 0 ? levels / width : 0.0f;
  const auto vector_inverse = hn::Set(d, inverse);
  const auto zero =
      hn::NearestInt(hn::Mul(hn::Set(d, -range.low), vector_inverse));

  const hn::RebindToSigned<F32> d32;
  const hn::Rebind<uint8_t, F32> d8;
  const auto most = hn::Set(d32, levels);
  const auto quantize = [&](auto v) HWY_ATTR {
    const auto rounded =
        hn::Add(hn::NearestInt(hn::Mul(v, vector_inverse)), zero);
    return hn::DemoteTo(d8, hn::Min(rounded, most));  // saturates at 0
  };
  int i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(quantize(hn::LoadU(d, x + i)), d8, q + i);
  }
  if (i < n) {
    HWY_ALIGN uint8_t last[64];
    hn::StoreU(quantize(LoadSome(d, x + i, n - i)), d8, last);
    for (int j = 0; i + j < n; ++j) q[i + j] = last[j];
  }
  return {width / levels, hn::GetLane(zero)};
}

void Bf16Row(const float* HWY_RESTRICT x, int n, uint16_t* HWY_RESTRICT y) {
  Bf16Numbers(x, n, y);
}

// y may be x.
Range ScaleRow(const float* x, const float* HWY_RESTRICT factors, int n,
               float* y) {
  const F32 d;
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto v = hn::Mul(some.Load(d, x + i), some.Load(d, factors + i));
    range.Add(v);
    some.Store(v, d, y + i);
  });
  return range.Get();
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
  const V e = Exp(d, hn::Neg(hn::Mul(a, a)));
  return hn::CopySign(hn::NegMulAdd(hn::Mul(p, t), e, one), x);
}

// 1 / x to nearly all bits, for x in [1, 1e38].
HWY_INLINE hn::Vec<F32> Reciprocal(hn::Vec<F32> x) {
  const F32 d;
  const auto r = hn::ApproximateReciprocal(x);
  return hn::MulAdd(r, hn::NegMulAdd(x, r, hn::Set(d, 1.0f)), r);
}

template <Activation kActivation>
HWY_INLINE hn::Vec<F32> Activate(hn::Vec<F32> x) {
  const F32 d;
  const auto one = hn::Set(d, 1.0f);
  switch (kActivation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return hn::Max(x, hn::Zero(d));
    case Activation::kGelu: {
      const auto half = hn::Mul(hn::Set(d, 0.5f), x);
      const auto erf = Erf(d, hn::Mul(x, hn::Set(d, 0.70710678f)));
      return hn::MulAdd(half, erf, half);
    }
    case Activation::kGeluTanh: {
      // x/2 (1 + tanh u) = x / (1 + exp(-2u))
      const auto square = hn::Mul(x, x);
      const auto u =
          hn::Mul(hn::Set(d, -1.59576912f),
                  hn::Mul(x, hn::MulAdd(square, hn::Set(d, 0.044715f), one)));
      return hn::Mul(x, Reciprocal(hn::Add(one, Exp(d, Clamp(d, u)))));
    }
    case Activation::kSwish: {
      const auto e = Exp(d, Clamp(d, hn::Neg(x)));
      return hn::Mul(x, Reciprocal(hn::Add(one, e)));
    }
    case Activation::kTanh: {
      // 1 - 2 / (1 + exp(2x))
      const auto e = Exp(d, Clamp(d, hn::Add(x, x)));
      return hn::NegMulAdd(hn::Set(d, 2.0f), Reciprocal(hn::Add(one, e)), one);
    }
  }
  return x;
}

template <Activation kActivation>
HWY_INLINE Range Finish(const ProductRow& row, float* HWY_RESTRICT y) {
  const F32 d;
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachNumber(row, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    const auto activated = some.Mask(d, Activate<kActivation>(v));
    range.Add(activated);
    some.Store(activated, d, y + i);
  });
  return range.Get();
}

Range FinishRow(const ProductRow& row, Activation activation, float* y) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return Finish<Activation::kRelu>(row, y);
    case Activation::kGelu:
      return Finish<Activation::kGelu>(row, y);
    case Activation::kGeluTanh:
      return Finish<Activation::kGeluTanh>(row, y);
    case Activation::kSwish:
      return Finish<Activation::kSwish>(row, y);
    case Activation::kTanh:
      return Finish<Activation::kTanh>(row, y);
  }
  return Finish<Activation::kNone>(row, y);
}

// y may be x or residual, so these are not HWY_RESTRICT.
Range AddNormRow(const float* x, const float* residual,
                 const float* HWY_RESTRICT gamma,
                 const float* HWY_RESTRICT beta, float epsilon, int n,
                 float* y) {
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
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(some.Load(d, y + i), mean), inverse);
    const auto result =
        hn::MulAdd(normal, some.Load(d, gamma + i), some.Load(d, beta + i));
    range.Add(result);  // gamma and beta load zeros beyond the end
    some.Store(result, d, y + i);
  });
  return range.Get();
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(RangeOf);
HWY_EXPORT(QuantizeRow);
HWY_EXPORT(Bf16Row);
HWY_EXPORT(FinishRow);
HWY_EXPORT(ScaleRow);
HWY_EXPORT(AddRow);
HWY_EXPORT(AddNormRow);

ProductRow ProductRow::Columns(int begin, int count) const {
  const auto from = [begin](const auto* p) {
    return p == nullptr ? nullptr : p + begin;
  };
  return {from(f32),    from(s32),  x,    from(scale),
          from(offset), from(bias), count};
}

Range RangeOf(const float* x, int n) {
  return HWY_DYNAMIC_DISPATCH(RangeOf)(x, n);
}
RowScale QuantizeRow(const float* x, int n, Range range, int levels,
                     uint8_t* q) {
  return HWY_DYNAMIC_DISPATCH(QuantizeRow)(x, n, range, levels, q);
}
void Bf16Row(const float* x, int n, uint16_t* y) {
  HWY_DYNAMIC_DISPATCH(Bf16Row)(x, n, y);
}
Range FinishRow(const ProductRow& row, Activation activation, float* y) {
  return HWY_DYNAMIC_DISPATCH(FinishRow)(row, activation, y);
}
Range ScaleRow(const float* x, const float* factors, int n, float* y) {
  return HWY_DYNAMIC_DISPATCH(ScaleRow)(x, factors, n, y);
}
void AddRow(const float* x, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(AddRow)(x, n, y);
}
Range AddNormRow(const float* x, const float* residual, const float* gamma,
                 const float* beta, float epsilon, int n, float* y) {
  return HWY_DYNAMIC_DISPATCH(AddNormRow)(x, residual, gamma, beta, epsilon, n,
                                          y);
}

}  // namespace trivium
#endif  // HWY_ONCE
