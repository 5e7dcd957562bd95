#ifndef TRIVIUM_SERVER_LIMITS_CRYPTO_H_
#define TRIVIUM_SERVER_LIMITS_CRYPTO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace trivium {

using Sha256 = std::array<uint8_t, 32>;

Sha256 Sha256Of(std::string_view text);

// Compares in the same time wherever the hashes differ.
bool EqualInConstantTime(const Sha256& a, const Sha256& b);

// Returns `bytes` random bytes that nobody can guess, in hexadecimal digits.
// INTERNAL if the system has none.
absl::StatusOr<std::string> NewSecret(size_t bytes);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_CRYPTO_H_
