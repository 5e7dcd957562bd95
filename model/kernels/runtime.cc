#include "model/kernels/runtime.h"

#include <atomic>

#include "hwy/targets.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace trivium {
absl::Status CapIsa(Isa isa) { return absl::OkStatus(); }
Isa ActiveIsa() { return Isa::kAvx512Vnni; }
}  // namespace trivium
