#include "model/kernels/rotary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/rotary.cc"
#include "hwy/foreach_target.h"
// Highway requires this order.
#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void ApplyRotary(const float* HWY_RESTRICT turn, int pairs, int heads,
                 int head_size, float* HWY_RESTRICT x) {
  const F32 d;
  for (int head = 0; head < heads; ++head, x += head_size) {
    ForEachVector(d, pairs, [&](int i, auto some) HWY_ATTR {
      const auto cosine = some.Load(d, turn + i);
      const auto sine = some.Load(d, turn + pairs + i);
      const auto first = some.Load(d, x + i);
      const auto second = some.Load(d, x + pairs + i);
      some.Store(hn::NegMulAdd(second, sine, hn::Mul(first, cosine)), d, x + i);
      some.Store(hn::MulAdd(first, sine, hn::Mul(second, cosine)), d,
                 x + pairs + i);
    });
  }
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trivium {

HWY_EXPORT(ApplyRotary);

void ApplyRotary(const float* turn, int pairs, int heads, int head_size,
                 float* x) {
  HWY_DYNAMIC_DISPATCH(ApplyRotary)(turn, pairs, heads, head_size, x);
}

}  // namespace trivium
#endif  // HWY_ONCE
