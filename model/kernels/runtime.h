#ifndef TRIVIUM_MODEL_KERNELS_RUNTIME_H_
#define TRIVIUM_MODEL_KERNELS_RUNTIME_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/isa.h"

namespace trivium {

// Caps both oneDNN and our own kernels at `isa` (--max-isa). Call it once,
// before any model is loaded. Returns FAILED_PRECONDITION if it is too late or
// if an x86 CPU lacks AVX2.
absl::Status CapIsa(Isa isa);

// Returns the instruction set in use: the CPU's best within the cap.
Isa ActiveIsa();

// While it lives, denormal numbers (below 1.2e-38) count as zero on this thread
// and on threads that it starts. Attention weights may be that small, and a CPU
// takes a hundred times as long for a product of denormals.
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
