// A panel's columns are independent, so vectors lie along them. The sum of a
// column is accumulated in two places, of even and of odd rows, that do not
// wait for one another.
#include "model/kernels/state_step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/state_step.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(F32()));
constexpr int kVectors = kStateColumns / kLanes;

// A vector for each few columns of a panel.
struct Columns {
  // The compiler's own would not be compiled for this instruction set.
  HWY_INLINE Columns() {}

  hn::Vec<F32> at[kVectors];

  HWY_INLINE void Zero() {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) at[v] = hn::Zero(F32());
  }
  HWY_INLINE void Load(const float* HWY_RESTRICT x) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      at[v] = hn::LoadU(F32(), x + v * kLanes);
    }
  }
};

// sums += state row * factor
HWY_INLINE void AddRow(const float* HWY_RESTRICT row, float factor,
                       Columns& sums) {
  const F32 d;
  const auto f = hn::Set(d, factor);
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    sums.at[v] = hn::MulAdd(hn::LoadU(d, row + v * kLanes), f, sums.at[v]);
  }
}

// row = decay row + key change; sums += row query
HWY_INLINE void UpdateRow(float* HWY_RESTRICT row, hn::Vec<F32> decay,
                          float key, float query, const Columns& change,
                          Columns& sums) {
  const F32 d;
  const auto k = hn::Set(d, key), q = hn::Set(d, query);
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    float* const at = row + v * kLanes;
    const auto s =
        hn::MulAdd(k, change.at[v], hn::Mul(decay, hn::LoadU(d, at)));
    hn::StoreU(s, d, at);
    sums.at[v] = hn::MulAdd(s, q, sums.at[v]);
  }
}

// S = decay S + key change^T, out = S^T query
HWY_INLINE void Update(const StateStep& step, const Columns& change) {
  const F32 d;
  const auto decay = hn::Set(d, step.decay);
  Columns even, odd;
  even.Zero();
  odd.Zero();
  float* row = step.state;
  int i = 0;
  for (; i + 2 <= step.rows; i += 2, row += 2 * kStateColumns) {
    UpdateRow(row, decay, step.key[i], step.query[i], change, even);
    UpdateRow(row + kStateColumns, decay, step.key[i + 1], step.query[i + 1],
              change, odd);
  }
  if (i < step.rows) {
    UpdateRow(row, decay, step.key[i], step.query[i], change, even);
  }
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(hn::Add(even.at[v], odd.at[v]), d, step.out + v * kLanes);
  }
}

void AddToState(const StateStep& step) {
  Columns value;
  value.Load(step.value);
  Update(step, value);
}

void CorrectState(const StateStep& step, float share) {
  const F32 d;
  Columns even, odd;
  even.Zero();
  odd.Zero();
  const float* row = step.state;
  int i = 0;
  for (; i + 2 <= step.rows; i += 2, row += 2 * kStateColumns) {
    AddRow(row, step.key[i], even);
    AddRow(row + kStateColumns, step.key[i + 1], odd);
  }
  if (i < step.rows) AddRow(row, step.key[i], even);
  Columns change;
  change.Load(step.value);
  const auto decay = hn::Set(d, step.decay), part = hn::Set(d, share);
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    const auto known = hn::Mul(decay, hn::Add(even.at[v], odd.at[v]));
    change.at[v] = hn::Mul(part, hn::Sub(change.at[v], known));
  }
  Update(step, change);
}

// row = exp(decay rate) row + key value; sums += row query
HWY_INLINE void ScanRow(float* HWY_RESTRICT row,
                        const float* HWY_RESTRICT decay, float key, float query,
                        const Columns& rate, const Columns& value,
                        Columns& sums) {
  const F32 d;
  const auto k = hn::Set(d, key), q = hn::Set(d, query);
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    float* const at = row + v * kLanes;
    const auto kept =
        Exp(d, hn::Mul(hn::LoadU(d, decay + v * kLanes), rate.at[v]));
    const auto s = hn::MulAdd(k, value.at[v], hn::Mul(kept, hn::LoadU(d, at)));
    hn::StoreU(s, d, at);
    sums.at[v] = hn::MulAdd(s, q, sums.at[v]);
  }
}

void ScanState(const ScanStep& step) {
  const F32 d;
  Columns rate, value, even, odd;
  rate.Load(step.rate);
  value.Load(step.value);
  even.Zero();
  odd.Zero();
  float* row = step.state;
  const float* decay = step.decay;
  for (int i = 0; i < step.rows;
       ++i, row += kStateColumns, decay += kStateColumns) {
    ScanRow(row, decay, step.key[i], step.query[i], rate, value,
            i % 2 == 0 ? even : odd);
  }
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(hn::Add(even.at[v], odd.at[v]), d, step.out + v * kLanes);
  }
}

void ConvolveRow(const float* const* x, int width,
                 const float* HWY_RESTRICT weights, size_t stride,
                 const float* HWY_RESTRICT bias, int n, float* HWY_RESTRICT y) {
  const F32 d;
  ForEachVector(d, n, [&](int c, auto some) HWY_ATTR {
    auto sum = bias == nullptr ? hn::Zero(d) : some.Load(d, bias + c);
    for (int i = 0; i < width; ++i) {
      sum = hn::MulAdd(some.Load(d, x[i] + c),
                       some.Load(d, weights + i * stride + c), sum);
    }
    some.Store(sum, d, y + c);
  });
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(AddToState);
HWY_EXPORT(CorrectState);
HWY_EXPORT(ScanState);
HWY_EXPORT(ConvolveRow);

void AddToState(const StateStep& step) {
  HWY_DYNAMIC_DISPATCH(AddToState)(step);
}
void CorrectState(const StateStep& step, float share) {
  HWY_DYNAMIC_DISPATCH(CorrectState)(step, share);
}
void ScanState(const ScanStep& step) { HWY_DYNAMIC_DISPATCH(ScanState)(step); }
void ConvolveRow(const float* const* x, int width, const float* weights,
                 size_t stride, const float* bias, int n, float* y) {
  HWY_DYNAMIC_DISPATCH(ConvolveRow)(x, width, weights, stride, bias, n, y);
}

}  // namespace trivium
#endif  // HWY_ONCE
