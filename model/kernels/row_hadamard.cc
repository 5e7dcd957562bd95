// The fast Walsh-Hadamard transform of runs of numbers: [a + b, a - b] of the
// transformed halves a and b of a run. Its steps add and subtract numbers that
// are 1, 2, 4... apart. All steps of a run stay in registers: numbers closer
// than a vector's width are exchanged within the vector, others are in
// different vectors.
#include <algorithm>
#include <cstdint>

#include "model/kernels/row_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/row_hadamard.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/range-inl.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(F32()));

// Describes the pairs of lanes that are kApart apart.
template <int kApart>
struct LanePairs {
  constexpr LanePairs() {
    for (int i = 0; i < kLanes; ++i) {
      signs[i] = (i & kApart) == 0 ? 1.0f : -1.0f;
      others[i] = i ^ kApart;
    }
  }

  // 1 for the first of a pair, -1 for the second.
  alignas(64) float signs[kLanes] = {};
  int32_t others[kLanes] = {};  // the other lane of the pair
};

// Returns the sum and the difference of each pair.
template <int kApart>
HWY_INLINE hn::Vec<F32> AddLanes(hn::Vec<F32> x) {
  static constexpr LanePairs<kApart> kPairs;
  const F32 d;
  const auto other =
      hn::TableLookupLanes(x, hn::SetTableIndices(d, kPairs.others));
  return hn::MulAdd(x, hn::Load(d, kPairs.signs), other);  // x * 1 is exact
}

// Runs the steps within vectors, of runs of kRun numbers.
template <int kRun>
HWY_INLINE hn::Vec<F32> HadamardLanes(hn::Vec<F32> x) {
  if constexpr (std::min(kRun, kLanes) > 1) x = AddLanes<1>(x);
  if constexpr (std::min(kRun, kLanes) > 2) x = AddLanes<2>(x);
  if constexpr (std::min(kRun, kLanes) > 4) x = AddLanes<4>(x);
  if constexpr (std::min(kRun, kLanes) > 8) x = AddLanes<8>(x);
  return x;
}

template <int kRun>
HWY_INLINE Range HadamardRuns(const float* x, int n, float* y) {
  const F32 d;
  RangeVectors range = {hn::Zero(d), hn::Zero(d)};
  if constexpr (kRun <= kLanes) {
    ForEachVector(d, n, [&](int i, auto some) HWY_ATTR {
      const auto v = HadamardLanes<kRun>(some.Load(d, x + i));
      range.Add(v);
      some.Store(v, d, y + i);
    });
  } else {
    constexpr int kVectors = kRun / kLanes;
    for (int begin = 0; begin < n; begin += kRun) {
      hn::Vec<F32> v[kVectors];
      HWY_UNROLL(16)
      for (int i = 0; i < kVectors; ++i) {
        v[i] = HadamardLanes<kRun>(hn::LoadU(d, x + begin + i * kLanes));
      }
      HWY_UNROLL(6)
      for (int apart = 1; apart < kVectors; apart *= 2) {
        HWY_UNROLL(16)
        for (int i = 0; i < kVectors; ++i) {
          if ((i & apart) != 0) continue;
          const auto a = v[i], b = v[i + apart];
          v[i] = hn::Add(a, b);
          v[i + apart] = hn::Sub(a, b);
        }
      }
      HWY_UNROLL(16)
      for (int i = 0; i < kVectors; ++i) {
        range.Add(v[i]);
        hn::StoreU(v[i], d, y + begin + i * kLanes);
      }
    }
  }
  return range.Get();
}

Range HadamardRow(const float* x, int n, float* y) {
  switch (HadamardSize(n)) {
    case 64:
      return HadamardRuns<64>(x, n, y);
    case 32:
      return HadamardRuns<32>(x, n, y);
    case 16:
      return HadamardRuns<16>(x, n, y);
    case 8:
      return HadamardRuns<8>(x, n, y);
    case 4:
      return HadamardRuns<4>(x, n, y);
    case 2:
      return HadamardRuns<2>(x, n, y);
    default:
      return HadamardRuns<1>(x, n, y);
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(HadamardRow);

Range HadamardRow(const float* x, int n, float* y) {
  return HWY_DYNAMIC_DISPATCH(HadamardRow)(x, n, y);
}

int HadamardSize(int n) { return std::min(n & -n, 64); }

}  // namespace trivium
#endif  // HWY_ONCE
