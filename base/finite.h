#ifndef TRIVIUM_BASE_FINITE_H_
#define TRIVIUM_BASE_FINITE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trivium {

// True if no number is infinite or NaN, that is, if no exponent has all bits
// set.
inline bool AllFinite(std::span<const float> x) {
  constexpr uint32_t kExponent = 0x7f800000;
  constexpr size_t kBlock = 16;  // lets compilers vectorize the loop
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
