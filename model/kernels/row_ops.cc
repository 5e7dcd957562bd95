#include "model/kernels/row_ops.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/row_ops.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/product_row-inl.h"
#include "model/kernels/range-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

Range RangeOf(const float* HWY_RESTRICT x, int n) {
  const F32 d;
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  ForEachVector(
      d, n, [&](int i, auto some) HWY_ATTR { range.Add(some.Load(d, x + i)); });
  return range.Get();
}

RowScale QuantizeRow(const float* HWY_RESTRICT x, int n, Range range,
                     uint8_t* HWY_RESTRICT q) {
  constexpr int kLevels = 255;
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const float width = range.high - range.low;
  const float inverse = width > 0 ? kLevels / width : 0.0f;
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
    StoreBytes(four, q + i);
  }
#endif
  const auto most = hn::Set(d32, kLevels);
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
  return {width / kLevels, hn::GetLane(zero)};
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

void AddScaledRow(const float* HWY_RESTRICT x, float factor, int n,
                  float* HWY_RESTRICT y) {
  const F32 d;
  const auto factors = hn::Set(d, factor);
  ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
    some.Store(hn::MulAdd(factors, some.Load(d, x + i), some.Load(d, y + i)), d,
               y + i);
  });
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(RangeOf);
HWY_EXPORT(QuantizeRow);
HWY_EXPORT(Bf16Row);
HWY_EXPORT(AddScaledRow);
HWY_EXPORT(ScaleRow);
HWY_EXPORT(AddRow);

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
RowScale QuantizeRow(const float* x, int n, Range range, uint8_t* q) {
  return HWY_DYNAMIC_DISPATCH(QuantizeRow)(x, n, range, q);
}
void Bf16Row(const float* x, int n, uint16_t* y) {
  HWY_DYNAMIC_DISPATCH(Bf16Row)(x, n, y);
}
void AddScaledRow(const float* x, float factor, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(AddScaledRow)(x, factor, n, y);
}
Range ScaleRow(const float* x, const float* factors, int n, float* y) {
  return HWY_DYNAMIC_DISPATCH(ScaleRow)(x, factors, n, y);
}
void AddRow(const ProductRow& row, float* y) {
  HWY_DYNAMIC_DISPATCH(AddRow)(row, y);
}

}  // namespace trivium
#endif  // HWY_ONCE
