// Helpers that our Highway kernels share. Compiled once for each target, hence
// the toggled guard.
#if defined(TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
#undef TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_VECTOR_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <utility>

#include "hwy/highway.h"

// For a lambda in a loop: as a call, it would keep the loop's sums in memory.
#define TRIVIUM_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 floats, so that a tile of 16 keys is a whole number of vectors.
using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using VI32 = hn::Vec<I32>;

// Permutes 32-bit lanes after four vectors were packed into one. Packing leaves
// one quad of each vector in every 128 bits; this puts the quads of one vector
// together.
alignas(64) inline constexpr int32_t kQuadsOfFour[] = {
    0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

#if HWY_TARGET == HWY_AVX3
// Stores the 64 integers of four vectors as bytes; they saturate.
HWY_INLINE void StoreBytes(const VI32 (&four)[4], uint8_t* HWY_RESTRICT bytes) {
  const hn::Full512<int16_t> d16;
  const hn::Full512<int32_t> d32;
  const hn::Full512<uint8_t> d8;
  const auto low = hn::ReorderDemote2To(d16, four[0], four[1]);
  const auto high = hn::ReorderDemote2To(d16, four[2], four[3]);
  // Debian's Highway lacks this instruction.
  const hn::Vec512<uint8_t> saturated{_mm512_packus_epi16(low.raw, high.raw)};
  // Now each 128 bits hold four numbers of every vector.
  const auto ordered = hn::TableLookupLanes(
      hn::BitCast(d32, saturated), hn::SetTableIndices(d32, kQuadsOfFour));
  hn::StoreU(hn::BitCast(d8, ordered), d8, bytes);
}
#endif

// Highway's MaskedLoad and BlendedStore for masks of FirstN that touch nothing
// beyond the mask. On CPUs without such instructions, Highway's own read all
// lanes and write back what they read.
constexpr bool kMasksMemory = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

template <class D>
HWY_INLINE hn::Vec<D> LoadFirst(hn::Mask<D> mask, D d, const hn::TFromD<D>* p) {
  if constexpr (kMasksMemory) {
    return hn::MaskedLoad(mask, d, p);
  } else {
    HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())] = {};
    for (size_t i = 0; i < hn::CountTrue(d, mask); ++i) lanes[i] = p[i];
    return hn::Load(d, lanes);
  }
}
template <class D>
HWY_INLINE void StoreFirst(hn::Vec<D> v, hn::Mask<D> mask, D d,
                           hn::TFromD<D>* p) {
  if constexpr (kMasksMemory) {
    hn::BlendedStore(v, mask, d, p);
  } else {
    HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
    hn::Store(v, d, lanes);
    for (size_t i = 0; i < hn::CountTrue(d, mask); ++i) p[i] = lanes[i];
  }
}

// Loads the first `count` values of p, then zeros; touches nothing beyond.
template <class D>
HWY_INLINE hn::Vec<D> LoadSome(D d, const hn::TFromD<D>* p, int count) {
  return LoadFirst(hn::FirstN(d, static_cast<size_t>(count)), d, p);
}

// The sum of a row's numbers. They are added up in kPlaces places, number i in
// place i modulo kPlaces, and so are the places: i and i + kPlaces / 2, and so
// on. The order does not depend on the width of vectors, so a sum has the same
// bits on every CPU. Places of different vectors do not wait for one another.
template <int kPlaces>
struct PlacedSum {
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(F32()));
  static constexpr int kVectors = kPlaces / kLanes;
  static_assert(kVectors > 0);

  hn::Vec<F32> at[kVectors];

  HWY_INLINE PlacedSum()
      : PlacedSum(std::make_integer_sequence<int, kVectors>()) {}
  HWY_INLINE float Get() const { return SumOfHalves(F32(), Fold<0, 1>()); }

 private:
  // A loop would become a call that keeps the sums in memory.
  template <int... kVector>
  HWY_INLINE explicit PlacedSum(std::integer_sequence<int, kVector...>)
      : at{(static_cast<void>(kVector), hn::Zero(F32()))...} {}
  // Returns the sum of each kStep-th vector from kFirst on.
  template <int kFirst, int kStep>
  HWY_INLINE hn::Vec<F32> Fold() const {
    if constexpr (kStep == kVectors) {
      return at[kFirst];
    } else {
      return hn::Add(Fold<kFirst, 2 * kStep>(),
                     Fold<kFirst + kStep, 2 * kStep>());
    }
  }
  // Not SumOfLanes, whose order depends on the instruction set.
  template <class D>
  static HWY_INLINE float SumOfHalves(D d, hn::Vec<D> v) {
    if constexpr (hn::MaxLanes(D()) > 4) {
      const hn::Half<D> half;
      return SumOfHalves(
          half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    } else {
      v = hn::Add(v, hn::Shuffle1032(v));
      v = hn::Add(v, hn::Shuffle2301(v));
      return hn::GetLane(v);
    }
  }
};

// The sum over a row.
using RowSum = PlacedSum<32>;

// ForEachVector passes one of these to its function, which reads and writes
// through it. WholeVector is a whole vector. kTurn counts the vectors, modulo
// kTurns.
constexpr int kTurns = RowSum::kVectors < 4 ? 4 : RowSum::kVectors;
template <int kPlace>
struct WholeVector {
  static constexpr int kTurn = kPlace;

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

// PartVector is the first `count` lanes. The others load as zero; Mask() zeroes
// them, and MaskOr() takes them from `other`.
template <int kPlace>
struct PartVector {
  static constexpr int kTurn = kPlace;

  int count;
  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, const hn::TFromD<D>* p) const {
    return LoadSome(d, p, count);
  }
  template <class D>
  HWY_INLINE void Store(hn::Vec<D> v, D d, hn::TFromD<D>* p) const {
    StoreFirst(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
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

// The place of a vector's numbers in a RowSum.
template <class Some>
HWY_INLINE hn::Vec<F32>& PlaceOf(Some some, RowSum& sum) {
  return sum.at[some.kTurn % RowSum::kVectors];
}

// Calls function(offset, PartVector) for the values from i on, of less than
// kTurns vectors.
template <int kTurn, class D, class F>
HWY_INLINE void ForLastVectors(D d, int i, int n, F& function) {
  if (i >= n) return;
  const int lanes = static_cast<int>(hn::Lanes(d));
  function(i, PartVector<kTurn>{n - i < lanes ? n - i : lanes});
  if constexpr (kTurn + 1 < kTurns) {
    ForLastVectors<kTurn + 1>(d, i + lanes, n, function);
  }
}

// Calls function(offset, WholeVector) for kTurns vectors from i on.
template <class F, int... kTurn>
HWY_INLINE void CallTurns(int i, int lanes, F& function,
                          std::integer_sequence<int, kTurn...>) {
  (function(i + kTurn * lanes, WholeVector<kTurn>()), ...);
}

// Calls function(offset, WholeVector or PartVector) until n values are
// processed.
template <class D, class F>
HWY_INLINE void ForEachVector(D d, int n, F function) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + kTurns * lanes <= n; i += kTurns * lanes) {
    CallTurns(i, lanes, function, std::make_integer_sequence<int, kTurns>());
  }
  ForLastVectors<0>(d, i, n, function);
}

// Calls sink(offset, WholeVector or PartVector, function(vector of x)) until n
// values are processed. It computes kTurns vectors at a time, because each step
// of a long function waits for the step before.
template <class F, class G>
HWY_INLINE void MapVectors(const float* x, int n, F function, G sink) {
  const F32 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + kTurns * lanes <= n; i += kTurns * lanes) {
    hn::Vec<F32> y[kTurns];
    HWY_UNROLL(8)
    for (int v = 0; v < kTurns; ++v) {
      y[v] = function(hn::LoadU(d, x + i + v * lanes));
    }
    const auto sink_turn = [&](int j, auto some) TRIVIUM_INLINE_LAMBDA {
      sink(j, some, y[some.kTurn]);
    };
    CallTurns(i, lanes, sink_turn, std::make_integer_sequence<int, kTurns>());
  }
  ForEachVector(d, n - i, [&](int j, auto some) HWY_ATTR {
    sink(i + j, some, function(some.Load(d, x + i + j)));
  });
}

// Limits exp's argument so that neither exp nor 1 + exp overflows.
template <class D, class V>
HWY_INLINE V Clamp(D d, V x) {
  return hn::Min(x, hn::Set(d, 87.0f));
}

// Returns exp(x) for x <= 87 as 2^n p(r), with x / ln 2 = n + r. p is the
// polynomial of degree 5 that has p(0) = 1 and the least relative error (9e-8)
// from 2^r in |r| <= 1/2. In floats the relative error is 2e-7 near 0. Farther
// out it is that of rounding x / ln 2: 1e-6 at 20, 4e-6 at 80. Below -87 the
// result is exp(-87), which added to 1 or more changes nothing.
template <class D>
HWY_INLINE hn::Vec<D> Exp(D d, hn::Vec<D> x) {
  // Adding a float to it rounds the float to an integer, in the lowest bits.
  const auto rounder = hn::Set(d, 12582912.0f);  // 1.5 * 2^23
  x = hn::Max(hn::Set(d, -87.0f), x);            // this order keeps NaN
  const auto binary = hn::Mul(x, hn::Set(d, 1.44269504f));
  const auto shifted = hn::Add(binary, rounder);
  const auto r = hn::Sub(binary, hn::Sub(shifted, rounder));  // exact
  auto p = hn::Set(d, 0.00132646591f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.00967156593f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.0555073439f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.240222413f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.693146977f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const hn::RebindToUnsigned<D> d32;
  return hn::BitCast(d, hn::Add(hn::BitCast(d32, p),
                                hn::ShiftLeft<23>(hn::BitCast(d32, shifted))));
}

// Returns cap * tanh(x / cap), for a cap above 0. Near 0 tanh is its series,
// farther out 1 - 2 / (1 + exp(2t)); its relative error is below 1e-6.
template <class D>
HWY_INLINE hn::Vec<D> SoftCap(D d, hn::Vec<D> x, float cap) {
  const auto one = hn::Set(d, 1.0f);
  const auto t = hn::Div(x, hn::Set(d, cap));
  const auto square = hn::Mul(t, t);
  auto p = hn::Set(d, -17.0f / 315);
  p = hn::MulAdd(p, square, hn::Set(d, 2.0f / 15));
  p = hn::MulAdd(p, square, hn::Set(d, -1.0f / 3));
  const auto near = hn::MulAdd(hn::Mul(p, square), t, t);
  const auto e = Exp(d, Clamp(d, hn::Add(t, t)));
  const auto far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(one, e)));
  const auto is_near = hn::Lt(hn::Abs(t), hn::Set(d, 0.2f));
  return hn::Mul(hn::Set(d, cap), hn::IfThenElse(is_near, near, far));
}

// Returns bf16(x), rounded to nearest even, in the upper half of each lane; the
// lower half is arbitrary.
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
  const I32 d32;
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
