#ifndef TRIVIUM_MODEL_KERNELS_DNNL_COMPAT_H_
#define TRIVIUM_MODEL_KERNELS_DNNL_COMPAT_H_

#include "absl/status/status.h"
#include "fmt/format.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace trivium {

// The differences between oneDNN 2.x and 3.x, in one place.
inline dnnl::matmul::primitive_desc MatmulDescriptor(
    const dnnl::engine& engine, const dnnl::memory::desc& x,
    const dnnl::memory::desc& w, const dnnl::memory::desc& y,
    const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, x, w, y, attributes);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(x, w, y), attributes,
                                      engine);
#endif
}

// Calls `function` and converts oneDNN's exceptions to statuses. No other code
// catches them.
template <typename Function>
absl::Status CatchDnnl(const char* what, Function function) {
  try {
    function();
    return absl::OkStatus();
  } catch (const dnnl::error& error) {
    return absl::InternalError(fmt::format("oneDNN: {}: {} (status {})", what,
                                           error.what(),
                                           static_cast<int>(error.status)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(fmt::format("out of memory: {}", what));
  }
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_DNNL_COMPAT_H_
