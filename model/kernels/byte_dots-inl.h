// Dot products of bytes, four per lane. Compiled once for each target, hence
// the toggled guard.
#if defined(TRIVIUM_MODEL_KERNELS_BYTE_DOTS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef TRIVIUM_MODEL_KERNELS_BYTE_DOTS_INL_H_
#undef TRIVIUM_MODEL_KERNELS_BYTE_DOTS_INL_H_
#else
#define TRIVIUM_MODEL_KERNELS_BYTE_DOTS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "model/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trivium::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns sum + the four products of unsigned bytes `u` and signed bytes `s` of
// each lane, exactly. kVnni must be true only if the CPU has AVX512-VNNI.
template <bool kVnni>
HWY_INLINE VI32 AddDots(VI32 sum, VI32 u, VI32 s) {
#if HWY_TARGET == HWY_AVX3
  // Inline assembly, because Highway offers this instruction only with others
  // that such CPUs may lack.
  if (kVnni) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(u.raw), "vm"(s.raw));
    return sum;
  }
#endif
  const I32 d;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  // Even and odd bytes separately, as 16 bits.
  const hn::Repartition<int16_t, I32> d16;
  const hn::RebindToUnsigned<decltype(d16)> du16;
  const auto s16 = hn::BitCast(d16, s);
  const auto u_even = hn::And(hn::BitCast(d16, u), hn::Set(d16, int16_t{0xff}));
  const auto s_even = hn::ShiftRight<8>(hn::ShiftLeft<8>(s16));
  const auto u_odd = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, u)));
  const auto s_odd = hn::ShiftRight<8>(s16);
  // These targets add adjacent products into one sum.
  auto unused = hn::Zero(d);
  sum = hn::ReorderWidenMulAccumulate(d, u_even, s_even, sum, unused);
  return hn::ReorderWidenMulAccumulate(d, u_odd, s_odd, sum, unused);
#else
  const auto byte = hn::Set(d, 0xff);
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    const auto u_byte = hn::And(hn::ShiftRightSame(u, 8 * i), byte);
    const auto s_byte = hn::ShiftRight<24>(hn::ShiftLeftSame(s, 24 - 8 * i));
    sum = hn::Add(sum, hn::Mul(u_byte, s_byte));
  }
  return sum;
#endif
}

}  // namespace trivium::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TRIVIUM_MODEL_KERNELS_BYTE_DOTS_INL_H_
