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
  template <class D>
  HWY_INLINE hn::Vec<D> MaskOr(D, hn::Vec<D> v, hn::Vec<D>) const {
    return v;
  }
};

// ... or the first `count` lanes; the others load as zero, Mask() makes them
// zero, and MaskOr() what `other` has.
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
  template <class D>
  HWY_INLINE hn::Vec<D> MaskOr(D d, hn::Vec<D> v, hn::Vec<D> other) const {
    return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(count)), v, other);
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

// Calls sink(offset, WholeVector or PartVector, function(vector of x)) until n
// values are done: four vectors at a time, since each of a long function's
// steps waits for the one before.
template <class F, class G>
HWY_INLINE void MapVectors(const float* x, int n, F function, G sink) {
  constexpr int kAtOnce = 4;
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + kAtOnce * lanes <= n; i += kAtOnce * lanes) {
    hn::Vec<F32> y[kAtOnce];
    HWY_UNROLL(8)
    for (int v = 0; v < kAtOnce; ++v) {
      y[v] = function(hn::LoadU(d, x + i + v * lanes));
    }
    HWY_UNROLL(8)
    for (int v = 0; v < kAtOnce; ++v) sink(i + v * lanes, WholeVector(), y[v]);
  }
  ForEachVector(d, n - i, [&](int j, auto some) HWY_ATTR {
    sink(i + j, some, function(some.Load(d, x + i + j)));
  });
}

// Keeps exp's argument where neither it nor 1 + exp overflows.
template <class D, class V>
HWY_INLINE V Clamp(D d, V x) {
  return hn::Min(x, hn::Set(d, 87.0f));
}

// exp(x) for x <= 87: 2^n p(r) with x = n ln 2 + r and p the polynomial of
// degree 6 that has the least relative error (2e-9) in |r| <= ln 2 / 2; in
// floats the whole is right to 3e-7. Below -87 the result is exp(-87), so that
// one that is added to 1 or more leaves it as it is.
template <class D>
HWY_INLINE hn::Vec<D> Exp(D d, hn::Vec<D> x) {
  // Added to it, a float is rounded to an integer in the lowest bits.
  const auto rounder = hn::Set(d, 12582912.0f);  // 1.5 * 2^23
  x = hn::Max(hn::Set(d, -87.0f), x);            // in this order NaN stays NaN
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), rounder);
  const auto n = hn::Sub(shifted, rounder);
  const auto r = hn::NegMulAdd(n, hn::Set(d, 0.693147181f), x);
  auto p = hn::Set(d, 0.0013836794f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.00837485716f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.0416682287f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.166664197f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.499999921f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const hn::RebindToUnsigned<D> d32;
  return hn::BitCast(d, hn::Add(hn::BitCast(d32, p),
                                hn::ShiftLeft<23>(hn::BitCast(d32, shifted))));
}

// bf16(x), to nearest even, in the upper half of each lane; the lower half is
// anything.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> RoundedToBf16(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::BitCast(d32, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fff)));
  const auto nan = hn::BitCast(d, hn::Set(d32, 0x7fc00000));
  return hn::BitCast(
      d32, hn::IfThenElse(hn::IsNaN(x), nan, hn::BitCast(d, rounded)));
}

HWY_INLINE uint16_t RoundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;  // NaN stays NaN
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

HWY_INLINE void Bf16Numbers(const float* HWY_RESTRICT x, int n,
                            uint16_t* HWY_RESTRICT y) {
  const F32 d;
  const hn::RebindToSigned<F32> d32;
  const hn::Rebind<uint16_t, F32> d16;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto bits = hn::ShiftRight<16>(RoundedToBf16(d, hn::LoadU(d, x + i)));
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(d32, bits)), d16, y + i);
  }
  for (; i < n; ++i) y[i] = RoundToBf16(x[i]);
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
