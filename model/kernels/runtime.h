#ifndef TRIVIUM_MODEL_KERNELS_RUNTIME_H_
#define TRIVIUM_MODEL_KERNELS_RUNTIME_H_

#include "absl/status/status.h"
#include "base/isa.h"

namespace trivium {

// Caps oneDNN and our own kernels alike at `isa` (--max-isa). Call once,
// before any model is loaded; FAILED_PRECONDITION when it comes too late or
// the CPU lacks AVX2.
absl::Status CapIsa(Isa isa);

// The instruction set in use: the CPU's best under the cap.
Isa ActiveIsa();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_RUNTIME_H_
