#ifndef TRIVIUM_MODEL_GRAMMAR_NUMBER_RANGE_H_
#define TRIVIUM_MODEL_GRAMMAR_NUMBER_RANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/grammar/char_dfa.h"

namespace trivium {

// The integers low .. high as decimal texts, without leading zeros and "-0". An
// absent bound is none. |bounds| <= 10^18.
absl::StatusOr<CharDfa> IntegersBetween(std::optional<int64_t> low,
                                        std::optional<int64_t> high);

struct NumberBound {
  double value;
  bool exclusive = false;
};

// Decimals between the bounds, without an exponent and "-0". They have at most
// 15 significant digits, so that every one is told apart from the bounds as a
// double. At least one bound is given.
absl::StatusOr<CharDfa> NumbersBetween(std::optional<NumberBound> low,
                                       std::optional<NumberBound> high);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_NUMBER_RANGE_H_
