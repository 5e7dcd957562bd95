// The range of a row, vector by vector. Compiled once for each target, hence
// the toggled guard.
#if defined(TRIVIUM_MODEL_KERNELS_RANGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_RANGE_INL_H_
#undef TRIVIUM_MODEL_KERNELS_RANGE_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_RANGE_INL_H_
#endif

#include "hwy/highway.h"
#include "model/kernels/row_ops.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Tracks the least and the greatest of the values seen, and 0.
struct RangeVectors {
  hn::Vec<F32> low, high;

  // Lanes beyond a row's end must be zero.
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

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_RANGE_INL_H_
