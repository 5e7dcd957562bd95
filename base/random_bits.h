#ifndef TRIVIUM_BASE_RANDOM_BITS_H_
#define TRIVIUM_BASE_RANDOM_BITS_H_

#include <cstdint>

namespace trivium {

// 64 random bits, for names that must differ: no secrets. Any thread may ask.
uint64_t RandomBits();

}  // namespace trivium

#endif  // TRIVIUM_BASE_RANDOM_BITS_H_
