#ifndef TRIVIUM_BASE_ALIVE_CHECK_H_
#define TRIVIUM_BASE_ALIVE_CHECK_H_

#include <functional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"

namespace trivium {

// Tells long work whether anybody still waits for its result. The work passes
// it down by reference and calls it every few milliseconds, which is every few
// KiB of text; an error ends the work and becomes its error:
//
//   absl::Status Read(std::string_view text, const AliveCheck& check_alive) {
//     for (...) {
//       TRIVIUM_RETURN_IF_ERROR(check_alive());
//
// A check may run other, short work on the thread before it answers
// (WorkPool::Yield), so no lock may be held.
class AliveCheck {
 public:
  // Always OK: for work that nobody gives up.
  AliveCheck() = default;
  // `check` is any function without arguments that returns an absl::Status.
  // What it refers to outlives this and its copies.
  template <typename Check>
  requires(!std::is_same_v<std::remove_cvref_t<Check>, AliveCheck> &&
           std::is_constructible_v<std::function<absl::Status()>, Check>)
      AliveCheck(Check&& check)
      : check_(std::forward<Check>(check)) {}

  absl::Status operator()() const {
    return check_ ? check_() : absl::OkStatus();
  }

 private:
  std::function<absl::Status()> check_;
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_ALIVE_CHECK_H_
