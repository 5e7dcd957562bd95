#include "model/kernels/runtime.h"

#include <atomic>

#include "base/status.h"
#include "fmt/format.h"
#include "hwy/targets.h"
#include "oneapi/dnnl/dnnl.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace trivium {
namespace {

std::atomic<int>& CappedIsa() {
  static std::atomic<int> isa{static_cast<int>(Isa::kAmx)};
  return isa;
}

#if defined(__x86_64__)
dnnl::cpu_isa DnnlIsa(Isa isa) {
  switch (isa) {
    case Isa::kNeon:  // not on this architecture
      break;
    case Isa::kAvx2:
      return dnnl::cpu_isa::avx2;
    case Isa::kAvx512:
      return dnnl::cpu_isa::avx512_core;
    case Isa::kAvx512Vnni:
      return dnnl::cpu_isa::avx512_core_vnni;
    case Isa::kAvx512Bf16:
      return dnnl::cpu_isa::avx512_core_bf16;
    case Isa::kAmx:
      break;
  }
  return dnnl::cpu_isa::all;
}
#endif

}  // namespace

absl::Status CapIsa(Isa isa) {
  TRIVIUM_RETURN_IF_ERROR(DetectIsa().status());
// Other architectures have only one instruction set.
#if defined(__x86_64__)
  const dnnl::status status = dnnl::set_max_cpu_isa(DnnlIsa(isa));
  if (status != dnnl::status::success) {
    return absl::FailedPreconditionError(fmt::format(
        "cannot cap the instruction set at {}: oneDNN is already in use",
        std::string(IsaName(isa))));
  }
  if (isa == Isa::kAvx2) {
    hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
  }
#endif
  CappedIsa() = static_cast<int>(isa);
  return absl::OkStatus();
}

Isa ActiveIsa() {
  static const Isa detected = [] {
    const absl::StatusOr<Isa> isa = DetectIsa();
    return isa.ok() ? *isa : Isa::kAvx2;
  }();
  return std::min(detected, static_cast<Isa>(CappedIsa().load()));
}

#if defined(__x86_64__)

// Flushes denormal results to zero (bit 15) and treats denormal operands as
// zero (bit 6): Intel's manual, volume 1, 10.2.3.
ScopedFlushDenormals::ScopedFlushDenormals() : before_(_mm_getcsr()) {
  _mm_setcsr(static_cast<unsigned>(before_) | 1u << 15 | 1u << 6);
}
ScopedFlushDenormals::~ScopedFlushDenormals() {
  _mm_setcsr(static_cast<unsigned>(before_));
}

#else

namespace {

uint64_t GetFpcr() {
  uint64_t bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}

void SetFpcr(uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits)); }

}  // namespace

// Flushes results and operands (FZ): Arm's Architecture Reference Manual, FPCR.
ScopedFlushDenormals::ScopedFlushDenormals() : before_(GetFpcr()) {
  SetFpcr(before_ | uint64_t{1} << 24);
}
ScopedFlushDenormals::~ScopedFlushDenormals() { SetFpcr(before_); }

#endif

}  // namespace trivium
