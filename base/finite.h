#ifndef TRIVIUM_BASE_FINITE_H_
#define TRIVIUM_BASE_FINITE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trivium {

// Whether none of the numbers is infinite or NaN: whether the exponent of none
// is all ones.
inline bool AllFinite(std::span<const float> x) {
  constexpr uint32_t kExponent = 0x7f800000;
  constexpr size_t kBlock = 16;  // so that compilers make vectors of it
  uint32_t special = 0;
  const auto look = [&](float value) {
    special |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent;
  };
  size_t i = 0;
  for (; i + kBlock <= x.size(); i += kBlock) {
    for (size_t j = 0; j < kBlock; ++j) look(x[i + j]);
  }
  for (; i < x.size(); ++i) look(x[i]);
  return special == 0;
}

}  // namespace trivium

#endif  // TRIVIUM_BASE_FINITE_H_
