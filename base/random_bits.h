#ifndef TRIVIUM_BASE_RANDOM_BITS_H_
#define TRIVIUM_BASE_RANDOM_BITS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// 64 random bits, for names that must differ: no secrets. Any thread may ask.
uint64_t RandomBits();

// 0.9 to 1.1 times as long, so that what began at once does not end at once.
absl::Duration Spread(absl::Duration time);

}  // namespace trivium

#endif  // TRIVIUM_BASE_RANDOM_BITS_H_
