// The floats of a ProductRow, for the epilogues that read them. Compiled once
// for each target, hence the toggled guard.
#if defined(TRIVIUM_MODEL_KERNELS_PRODUCT_ROW_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_PRODUCT_ROW_INL_H_
#undef TRIVIUM_MODEL_KERNELS_PRODUCT_ROW_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_PRODUCT_ROW_INL_H_
#endif

#include "hwy/highway.h"
#include "model/kernels/row_ops.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kBias, class F>
HWY_INLINE void ForEachInt8Number(const ProductRow& row, F function) {
  const F32 d;
  const I32 d32;
  const auto x_scale = hn::Set(d, row.x.scale);
  const auto zero = hn::Set(d, -row.x.scale * static_cast<float>(row.x.zero));
  // Local copies: for all the compiler knows, stores may change `row`.
  const int32_t* s32 = row.s32;
  const float* scale = row.scale;
  const float* offset = row.offset;
  const float* bias = row.bias;
  ForEachVector(
      d, row.n,
      [&, s32, scale, offset, bias](int i, auto some) TRIVIUM_INLINE_LAMBDA {
        const auto sum = hn::ConvertTo(d, some.Load(d32, s32 + i));
        const auto scales = hn::Mul(x_scale, some.Load(d, scale + i));
        const auto base = kBias ? hn::MulAdd(zero, some.Load(d, offset + i),
                                             some.Load(d, bias + i))
                                : hn::Mul(zero, some.Load(d, offset + i));
        function(i, some, hn::MulAdd(sum, scales, base));
      });
}

// Calls function(column, WholeVector or PartVector, numbers).
template <class F>
HWY_INLINE void ForEachNumber(const ProductRow& row, F function) {
  if (row.f32 == nullptr) {
    return row.bias == nullptr ? ForEachInt8Number<false>(row, function)
                               : ForEachInt8Number<true>(row, function);
  }
  const F32 d;
  const float* f32 = row.f32;
  const float* bias = row.bias;
  ForEachVector(
      d, row.n, [&, f32, bias](int i, auto some) TRIVIUM_INLINE_LAMBDA {
        const auto product = some.Load(d, f32 + i);
        function(i, some,
                 bias == nullptr ? product
                                 : hn::Add(product, some.Load(d, bias + i)));
      });
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_PRODUCT_ROW_INL_H_
