#ifndef TRIVIUM_TESTS_FUZZ_SETTINGS_H_
#define TRIVIUM_TESTS_FUZZ_SETTINGS_H_

#include <cstdlib>

namespace trivium {

// A number of the environment, for long runs by hand: TRIVIUM_FUZZ_ROUNDS,
// TRIVIUM_FUZZ_SEED, TRIVIUM_FUZZ_FIRST.
inline long FuzzSetting(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atol(value);
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_FUZZ_SETTINGS_H_
