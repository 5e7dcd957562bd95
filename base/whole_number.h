#ifndef TRIVIUM_BASE_WHOLE_NUMBER_H_
#define TRIVIUM_BASE_WHOLE_NUMBER_H_

#include <cmath>
#include <cstdint>
#include <optional>

namespace trivium {

// Returns the integer that a double is, such as JSON's 10.0 or 1e1: some
// clients have no other numbers. Returns nullopt for others, and beyond 2^53,
// where doubles skip integers.
inline std::optional<int64_t> WholeNumber(double number) {
  constexpr double kMost = 9007199254740992;  // 2^53
  if (!(std::abs(number) <= kMost) || number != std::trunc(number)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(number);
}

}  // namespace trivium

#endif  // TRIVIUM_BASE_WHOLE_NUMBER_H_
