#include "base/exceptions.h"

#include <exception>
#include <new>

namespace trivium {

const absl::Status& NoMemoryStatus() {
  static const absl::Status* const status =
      new absl::Status(absl::ResourceExhaustedError(
          "the server has no memory left for this request; retry later, or "
          "send a shorter one"));
  return *status;
}

absl::Status CaughtStatus() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return NoMemoryStatus();
  } catch (const std::exception& error) {
    try {
      return absl::InternalError(error.what());
    } catch (...) {
      return NoMemoryStatus();
    }
  } catch (...) {
    // Nothing here throws anything but a std::exception.
    return NoMemoryStatus();
  }
}

namespace {

// Made at the start of the process.
[[maybe_unused]] const absl::Status& made_early = NoMemoryStatus();

}  // namespace

}  // namespace trivium
