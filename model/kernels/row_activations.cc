// Activations and gates of rows. erf and exp are polynomials, because the exact
// functions would take longer than the products beside them; each comment says
// how exact a polynomial is. A whole row is finished with its bias
// first and then processed kTurns vectors at a time, since each step of a
// polynomial waits for the step before. Lanes beyond a row's end are zero in
// ranges.
#include <type_traits>

#include "model/kernels/row_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/row_activations.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/product_row-inl.h"
#include "model/kernels/range-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns 1 / x. CPUs approximate it each in their own way, so it is divided.
HWY_INLINE hn::Vec<F32> Reciprocal(hn::Vec<F32> x) {
  return hn::Div(hn::Set(F32(), 1.0f), x);
}

// Returns erf(x) = x P(x^2) / Q(x^2) for |x| <= 4, and +-1 beyond, with the
// coefficients of Eigen's erf. The absolute error is below 4e-7.
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
    case Activation::kSquaredRelu: {
      const auto positive = hn::Max(x, hn::Zero(d));
      return hn::Mul(positive, positive);
    }
    case Activation::kSigmoid:
      return Reciprocal(hn::Add(one, Exp(d, Clamp(d, hn::Neg(x)))));
  }
  return x;
}

void FinishRow(const ProductRow& row, float* HWY_RESTRICT y) {
  const F32 d;
  ForEachNumber(row, [&](int i, auto some, hn::Vec<F32> v)
                         HWY_ATTR { some.Store(v, d, y + i); });
}

// Sets y = activation(the row's floats) and passes each vector to `sink`, too.
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
    case Activation::kSquaredRelu:
      return function(Constant<Activation::kSquaredRelu>());
    case Activation::kSigmoid:
      return function(Constant<Activation::kSigmoid>());
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

void SoftCapRow(const ProductRow& row, float cap, float* y) {
  const F32 d;
  ForEachNumber(row, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    some.Store(SoftCap(d, v, cap), d, y + i);
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

Range ClippedGateRow(const ProductRow& gate, const ProductRow& up,
                     const GateClip& clip, float* y) {
  const F32 d;
  const auto limit = hn::Set(d, clip.limit);
  const auto alpha = hn::Set(d, clip.alpha);
  const auto one = hn::Set(d, 1.0f);
  ForEachNumber(gate, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    const auto g = hn::Min(v, limit);
    const auto e = Exp(d, Clamp(d, hn::Neg(hn::Mul(alpha, g))));
    some.Store(hn::Mul(g, Reciprocal(hn::Add(one, e))), d, y + i);
  });
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachNumber(up, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    const auto u = hn::Max(hn::Min(v, limit), hn::Neg(limit));
    const auto product = hn::Mul(hn::Add(u, one), some.Load(d, y + i));
    range.Add(product);  // y loads zeros beyond the end
    some.Store(product, d, y + i);
  });
  return range.Get();
}

Range RecurRow(const ProductRow& forget, const ProductRow& input,
               const float* before, float* after, float* y) {
  const F32 d;
  const auto one = hn::Set(d, 1.0f);
  ForEachNumber(forget, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    const auto e = Exp(d, Clamp(d, hn::Neg(v)));
    some.Store(Reciprocal(hn::Add(one, e)), d, y + i);
  });
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachNumber(input, [&](int i, auto some, hn::Vec<F32> v) HWY_ATTR {
    const auto f = some.Load(d, y + i);
    const auto last =
        before == nullptr ? hn::Zero(d) : some.Load(d, before + i);
    const auto state = hn::MulAdd(f, hn::Sub(last, v), v);
    const auto seen = hn::Max(state, hn::Zero(d));
    range.Add(some.Mask(d, seen));
    some.Store(state, d, after + i);
    some.Store(seen, d, y + i);
  });
  return range.Get();
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(FinishRow);
HWY_EXPORT(ActivateRow);
HWY_EXPORT(SoftCapRow);
HWY_EXPORT(GateRow);
HWY_EXPORT(ClippedGateRow);
HWY_EXPORT(RecurRow);

void FinishRow(const ProductRow& row, float* y) {
  HWY_DYNAMIC_DISPATCH(FinishRow)(row, y);
}
Range ActivateRow(const ProductRow& row, Activation activation, float* y) {
  return HWY_DYNAMIC_DISPATCH(ActivateRow)(row, activation, y);
}
void SoftCapRow(const ProductRow& row, float cap, float* y) {
  HWY_DYNAMIC_DISPATCH(SoftCapRow)(row, cap, y);
}

Range GateRow(const ProductRow& gate, const ProductRow& up,
              Activation activation, float* y) {
  return HWY_DYNAMIC_DISPATCH(GateRow)(gate, up, activation, y);
}
Range ClippedGateRow(const ProductRow& gate, const ProductRow& up,
                     const GateClip& clip, float* y) {
  return HWY_DYNAMIC_DISPATCH(ClippedGateRow)(gate, up, clip, y);
}

Range RecurRow(const ProductRow& forget, const ProductRow& input,
               const float* before, float* after, float* y) {
  return HWY_DYNAMIC_DISPATCH(RecurRow)(forget, input, before, after, y);
}

}  // namespace trivium
#endif  // HWY_ONCE
