#include "base/random_bits.h"

#include <random>

namespace trivium {

uint64_t RandomBits() {
  thread_local std::mt19937_64 random((uint64_t{std::random_device{}()} << 32) ^
                                      std::random_device{}());
  return random();
}

}  // namespace trivium
