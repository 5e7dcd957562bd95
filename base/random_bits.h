#ifndef TRIVIUM_BASE_RANDOM_BITS_H_
#define TRIVIUM_BASE_RANDOM_BITS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// Returns 64 random bits for unique names, not for secrets. Thread-safe.
uint64_t RandomBits();

// Returns a random duration of 0.9 to 1.1 times `time`, so that things which
// began together do not end together.
absl::Duration Spread(absl::Duration time);

}  // namespace trivium

#endif  // TRIVIUM_BASE_RANDOM_BITS_H_
