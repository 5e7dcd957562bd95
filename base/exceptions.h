#ifndef TRIVIUM_BASE_EXCEPTIONS_H_
#define TRIVIUM_BASE_EXCEPTIONS_H_

#include <type_traits>
#include <utility>

#include "absl/status/status.h"

namespace trivium {

// RESOURCE_EXHAUSTED for a request for which there is no memory. Made once, so
// that it needs no memory itself.
const absl::Status& NoMemoryStatus();

// The exception that is being caught, as a status: NoMemoryStatus for
// std::bad_alloc, else INTERNAL with its message. Only inside a catch block.
absl::Status CaughtStatus() noexcept;

// Runs `work`, which returns nothing or a status, and returns its status or
// that of what it threw. This is the boundary where another thread or library
// enters our code: no exception may pass there. It stands around work that
// either has no effect or has told everybody when it throws:
//
//   if (absl::Status status = CatchExceptions([&] { Begin(); });
//       !status.ok()) {
//     Finish(status);
//   }
template <typename Work>
absl::Status CatchExceptions(Work&& work) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      std::forward<Work>(work)();
      return absl::OkStatus();
    } else {
      return std::forward<Work>(work)();
    }
  } catch (...) {
    return CaughtStatus();
  }
}

}  // namespace trivium

#endif  // TRIVIUM_BASE_EXCEPTIONS_H_
