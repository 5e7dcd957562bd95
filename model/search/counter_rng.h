#ifndef TRIVIUM_MODEL_SEARCH_COUNTER_RNG_H_
#define TRIVIUM_MODEL_SEARCH_COUNTER_RNG_H_

#include <array>
#include <cstdint>

namespace trivium {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): a random function of a counter and a key. It uses integers only, so
// it gives the same bits on every machine.
constexpr std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Returns the random number in [0, 1) for the token at `position` of draw
// `sample`. No state is carried from token to token: a sequence draws the same
// numbers whatever runs beside it.
constexpr double UniformAt(uint64_t seed, uint32_t sample, uint32_t position) {
  const std::array<uint32_t, 4> bits = Philox4x32(
      {sample, position, 0, 0},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t word = (uint64_t{bits[0]} << 32) | bits[1];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_COUNTER_RNG_H_
