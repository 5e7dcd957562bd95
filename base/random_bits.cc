#include "base/random_bits.h"

#include <random>

namespace trivium {

uint64_t RandomBits() {
  thread_local std::mt19937_64 random((uint64_t{std::random_device{}()} << 32) ^
                                      std::random_device{}());
  return random();
}

absl::Duration Spread(absl::Duration time) {
  constexpr int kBits = 16;
  const double part =
      static_cast<double>(RandomBits() >> (64 - kBits)) / (1 << kBits);
  return time * (0.9 + 0.2 * part);
}

}  // namespace trivium
