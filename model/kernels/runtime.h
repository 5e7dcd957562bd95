#ifndef TRIVIUM_MODEL_KERNELS_RUNTIME_H_
#define TRIVIUM_MODEL_KERNELS_RUNTIME_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/isa.h"

namespace trivium {

// Caps oneDNN and our own kernels alike at `isa` (--max-isa). Call once,
// before any model is loaded; FAILED_PRECONDITION when it comes too late or
// the CPU is of x86 and lacks AVX2.
absl::Status CapIsa(Isa isa);

// The instruction set in use: the CPU's best under the cap.
Isa ActiveIsa();

// While it lives, numbers too small to be normal ones, below 1.2e-38, count as
// zero on this thread and on those that it starts. The weights of attention may
// be as small, and a CPU that has to be exact about them takes a hundred times
// as long for a product.
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals();
  ~ScopedFlushDenormals();
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  const uint64_t before_;  // the thread's MXCSR, on Arm its FPCR
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_RUNTIME_H_
