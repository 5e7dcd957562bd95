#include "model/kernels/row_ops.h"

#include <type_traits>

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

#if HWY_TARGET == HWY_AVX3
// The 64 integers of four vectors, no less than 0 and no more than `most`.
HWY_INLINE void StoreBytes(const VI32 (&four)[4], int most,
                           uint8_t* HWY_RESTRICT bytes) {
  const hn::Full512<int16_t> d16;
  const hn::Full512<int32_t> d32;
  const hn::Full512<uint8_t> d8;
  const auto low = hn::ReorderDemote2To(d16, four[0], four[1]);
  const auto high = hn::ReorderDemote2To(d16, four[2], four[3]);
  // Not in Debian's Highway.
  const hn::Vec512<uint8_t> saturated{_mm512_packus_epi16(low.raw, high.raw)};
  // Now each 128 bits have four numbers of every vector.
  alignas(64) static constexpr int32_t kOrder[] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                   2, 6, 10, 14, 3, 7, 11, 15};
  const auto ordered = hn::TableLookupLanes(
      hn::BitCast(d32,
                  hn::Min(saturated, hn::Set(d8, static_cast<uint8_t>(most)))),
      hn::SetTableIndices(d32, kOrder));
  hn::StoreU(hn::BitCast(d8, ordered), d8, bytes);
}
#endif

RowScale QuantizeRow(const float* HWY_RESTRICT x, int n, Range range,
                     int levels, uint8_t* HWY_RESTRICT q) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const float width = range.high - range.low;
  const float inverse = width > 0 ? levels / width : 0.0f;
  const auto vector_inverse = hn::Set(d, inverse);
  const auto zero =
      hn::NearestInt(hn::Mul(hn::Set(d, -range.low), vector_inverse));

  const I32 d32;
  const hn::Rebind<uint8_t, F32> d8;
  const auto round = [&](auto v) HWY_ATTR {
    return hn::Add(hn::NearestInt(hn::Mul(v, vector_inverse)), zero);
  };
  int i = 0;
#if HWY_TARGET == HWY_AVX3
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    VI32 four[4];
    HWY_UNROLL(8)
    for (int v = 0; v < 4; ++v) {
      four[v] = round(hn::LoadU(d, x + i + v * lanes));
    }
    StoreBytes(four, levels, q + i);
  }
#endif
  const auto most = hn::Set(d32, levels);
  const auto quantize = [&](auto v) HWY_ATTR {
    return hn::DemoteTo(d8, hn::Min(round(v), most));  // saturates at 0
  };
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

void AddRow(const ProductRow& row, float* HWY_RESTRICT y) {
  const F32 d;
  ForEachNumber(row, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    some.Store(hn::Add(some.Load(d, y + i), v), d, y + i);
  });
}

// 1 / x to nearly all bits, for |x| in [1e-3, 1e38].
HWY_INLINE hn::Vec<F32> Reciprocal(hn::Vec<F32> x) {
  const F32 d;
  const auto r = hn::ApproximateReciprocal(x);
  return hn::MulAdd(r, hn::NegMulAdd(x, r, hn::Set(d, 1.0f)), r);
}

// erf(x) = x P(x^2) / Q(x^2) for |x| <= 4, and +-1 beyond; coefficients of
// Eigen's erf; absolute error below 4e-7.
HWY_INLINE hn::Vec<F32> Erf(hn::Vec<F32> x) {
  const F32 d;
  const auto near = hn::Max(hn::Min(x, hn::Set(d, 4.0f)), hn::Set(d, -4.0f));
  const auto square = hn::Mul(near, near);
  auto p = hn::Set(d, -2.72614225801306e-10f);
  p = hn::MulAdd(p, square, hn::Set(d, 2.77068142495902e-08f));
  p = hn::MulAdd(p, square, hn::Set(d, -2.10102402082508e-06f));
  p = hn::MulAdd(p, square, hn::Set(d, -5.69250639462346e-05f));
  p = hn::MulAdd(p, square, hn::Set(d, -7.34990630326855e-04f));
  p = hn::MulAdd(p, square, hn::Set(d, -2.95459980854025e-03f));
  p = hn::MulAdd(p, square, hn::Set(d, -1.60960333262415e-02f));
  auto q = hn::Set(d, -1.45660718464996e-05f);
  q = hn::MulAdd(q, square, hn::Set(d, -2.13374055278905e-04f));
  q = hn::MulAdd(q, square, hn::Set(d, -1.68282697438203e-03f));
  q = hn::MulAdd(q, square, hn::Set(d, -7.37332916720468e-03f));
  q = hn::MulAdd(q, square, hn::Set(d, -1.42647390514189e-02f));
  return hn::IfThenElse(hn::Eq(near, x),
                        hn::Mul(hn::Mul(near, p), Reciprocal(q)),
                        hn::Mul(near, hn::Set(d, 0.25f)));
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
      const auto erf = Erf(hn::Mul(x, hn::Set(d, 0.70710678f)));
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

void FinishRow(const ProductRow& row, float* HWY_RESTRICT y) {
  const F32 d;
  ForEachNumber(row, [&](int i, auto some, hn::Vec<F32> v)
                         HWY_ATTR { some.Store(v, d, y + i); });
}

// y = activation(the row's numbers), vector by vector also to `sink`.
template <Activation kActivation, class Sink>
HWY_INLINE void Activated(const ProductRow& row, float* y, Sink sink) {
  HWY_NAMESPACE::FinishRow(row, y);
  const F32 d;
  MapVectors(
      y, row.n,
      [](hn::Vec<F32> v) HWY_ATTR { return Activate<kActivation>(v); },
      [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
        sink(some, v);
        some.Store(v, d, y + i);
      });
}

// Calls function(Constant<activation>).
template <Activation kActivation>
using Constant = std::integral_constant<Activation, kActivation>;
template <class F>
HWY_INLINE Range WithActivation(Activation activation, F function) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return function(Constant<Activation::kRelu>());
    case Activation::kGelu:
      return function(Constant<Activation::kGelu>());
    case Activation::kGeluTanh:
      return function(Constant<Activation::kGeluTanh>());
    case Activation::kSwish:
      return function(Constant<Activation::kSwish>());
    case Activation::kTanh:
      return function(Constant<Activation::kTanh>());
  }
  return function(Constant<Activation::kNone>());
}

Range ActivateRow(const ProductRow& row, Activation activation, float* y) {
  return WithActivation(activation, [&](auto known) HWY_ATTR {
    const F32 d;
    RangeVectors range = {hn::Zero(d), hn::Zero(d)};
    Activated<known.value>(row, y, [&](auto some, hn::Vec<F32> v) HWY_ATTR {
      range.Add(some.Mask(d, v));
    });
    return range.Get();
  });
}

Range GateRow(const ProductRow& gate, const ProductRow& up,
              Activation activation, float* y) {
  return WithActivation(activation, [&](auto known) HWY_ATTR {
    const F32 d;
    Activated<known.value>(gate, y, [](auto, hn::Vec<F32>) HWY_ATTR {});
    RangeVectors range = {hn::Zero(d), hn::Zero(d)};
    ForEachNumber(up, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
      const auto product = hn::Mul(some.Load(d, y + i), v);
      range.Add(product);  // both load zeros beyond the end
      some.Store(product, d, y + i);
    });
    return range.Get();
  });
}

// A sum in four places, see kTurns.
struct FourSums {
  hn::Vec<F32> at[kTurns];

  HWY_INLINE FourSums() {
    for (auto& one : at) one = hn::Zero(F32());
  }
  HWY_INLINE hn::Vec<F32> Get() const {
    return hn::SumOfLanes(
        F32(), hn::Add(hn::Add(at[0], at[1]), hn::Add(at[2], at[3])));
  }
};

// y = the row's numbers + residual, vector by vector also to
// sink(WholeVector or PartVector, vector).
template <class Sink>
HWY_INLINE void AddResidual(const ProductRow& x, const float* residual,
                            float* y, Sink sink) {
  const F32 d;
  ForEachNumber(x, [&](int i, auto some, hn::Vec<F32> s) HWY_ATTR {
    if (residual != nullptr) s = hn::Add(s, some.Load(d, residual + i));
    sink(some, s);
    some.Store(s, d, y + i);
  });
}

// 1 / sqrt(the mean of squares + epsilon); share is 1 / how many there are.
HWY_INLINE hn::Vec<F32> InverseRoot(const FourSums& squares, hn::Vec<F32> share,
                                    float epsilon) {
  const F32 d;
  return hn::Div(
      hn::Set(d, 1.0f),
      hn::Sqrt(hn::Add(hn::Mul(squares.Get(), share), hn::Set(d, epsilon))));
}

// y may be the row's or residual, so these are not HWY_RESTRICT.
template <bool kBeta>
HWY_INLINE Range AddNorm(const ProductRow& x, const float* residual,
                         const float* HWY_RESTRICT gamma,
                         const float* HWY_RESTRICT beta, float epsilon,
                         float* y) {
  const F32 d;
  const int n = x.n;
  const auto share = hn::Set(d, 1.0f / static_cast<float>(n));
  FourSums sums;
  AddResidual(x, residual, y, [&](auto some, hn::Vec<F32> s) HWY_ATTR {
    sums.at[some.kTurn] = hn::Add(sums.at[some.kTurn], s);
  });
  const auto mean = hn::Mul(sums.Get(), share);
  FourSums squares;
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    const auto centred = some.Mask(d, hn::Sub(some.Load(d, y + i), mean));
    squares.at[some.kTurn] =
        hn::MulAdd(centred, centred, squares.at[some.kTurn]);
  });
  const auto inverse = InverseRoot(squares, share, epsilon);
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
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
  FourSums squares;
  AddResidual(x, residual, y, [&](auto some, hn::Vec<F32> s) HWY_ATTR {
    squares.at[some.kTurn] = hn::MulAdd(s, s, squares.at[some.kTurn]);
  });
  const auto inverse =
      InverseRoot(squares, hn::Set(d, 1.0f / static_cast<float>(x.n)), epsilon);
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(d, x.n, [&](int i, auto some) HWY_ATTR {
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

HWY_EXPORT(RangeOf);
HWY_EXPORT(QuantizeRow);
HWY_EXPORT(Bf16Row);
HWY_EXPORT(FinishRow);
HWY_EXPORT(ActivateRow);
HWY_EXPORT(GateRow);
HWY_EXPORT(ScaleRow);
HWY_EXPORT(AddRow);
HWY_EXPORT(AddNormRow);
HWY_EXPORT(AddRmsNormRow);

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
void FinishRow(const ProductRow& row, float* y) {
  HWY_DYNAMIC_DISPATCH(FinishRow)(row, y);
}
Range ActivateRow(const ProductRow& row, Activation activation, float* y) {
  return HWY_DYNAMIC_DISPATCH(ActivateRow)(row, activation, y);
}
Range GateRow(const ProductRow& gate, const ProductRow& up,
              Activation activation, float* y) {
  return HWY_DYNAMIC_DISPATCH(GateRow)(gate, up, activation, y);
}
Range ScaleRow(const float* x, const float* factors, int n, float* y) {
  return HWY_DYNAMIC_DISPATCH(ScaleRow)(x, factors, n, y);
}
void AddRow(const ProductRow& row, float* y) {
  HWY_DYNAMIC_DISPATCH(AddRow)(row, y);
}
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
