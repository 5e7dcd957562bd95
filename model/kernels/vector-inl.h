// What our Highway kernels share. Compiled once for each target, hence the
// toggled guard.
#if defined(TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
#undef TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 floats, so that a tile of 16 keys is a whole number of vectors.
using F32 = hn::CappedTag<float, 16>;

// The first `count` values of p, then zeros; touches nothing beyond.
template <class D>
HWY_INLINE hn::Vec<D> LoadSome(D d, const hn::TFromD<D>* p, int count) {
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
}

// How ForEachVector's function reads and writes: whole vectors...
struct WholeVector {
  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, const hn::TFromD<D>* p) const {
    return hn::LoadU(d, p);
  }
  template <class D>
  HWY_INLINE void Store(hn::Vec<D> v, D d, hn::TFromD<D>* p) const {
    hn::StoreU(v, d, p);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Mask(D, hn::Vec<D> v) const {
    return v;
  }
};

// ... or the first `count` lanes; the others load as zero, and Mask() makes
// them zero.
struct PartVector {
  int count;
  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, const hn::TFromD<D>* p) const {
    return LoadSome(d, p, count);
  }
  template <class D>
  HWY_INLINE void Store(hn::Vec<D> v, D d, hn::TFromD<D>* p) const {
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Mask(D d, hn::Vec<D> v) const {
    return hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), v);
  }
};

// Calls function(offset, WholeVector or PartVector) until n values are done.
template <class D, class F>
HWY_INLINE void ForEachVector(D d, int n, F function) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= n; i += lanes) function(i, WholeVector());
  if (i < n) function(i, PartVector{n - i});
}

// Keeps exp's argument where neither it nor 1 + exp overflows.
template <class D, class V>
HWY_INLINE V Clamp(D d, V x) {
  return hn::Min(x, hn::Set(d, 87.0f));
}

HWY_INLINE uint16_t RoundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;  // NaN stays NaN
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
