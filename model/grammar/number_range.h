#ifndef TRIVIUM_MODEL_GRAMMAR_NUMBER_RANGE_H_
#define TRIVIUM_MODEL_GRAMMAR_NUMBER_RANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/grammar/char_dfa.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// The integers low .. high as decimal texts, without leading zeros and "-0". An
// absent bound is none. |bounds| <= 10^18.
absl::StatusOr<CharDfa> IntegersBetween(std::optional<int64_t> low,
                                        std::optional<int64_t> high,
                                        WorkBudget* work);

// The integers of at most so many digits, in the same form.
absl::StatusOr<CharDfa> IntegersOfDigits(int digits, WorkBudget* work);

struct NumberBound {
  double value;
  bool exclusive = false;
};

// Decimals between the bounds, without an exponent and "-0". They have at most
// 15 digits, a zero before the point not counted, so that every one is told
// apart from the bounds as a double.
absl::StatusOr<CharDfa> NumbersBetween(std::optional<NumberBound> low,
                                       std::optional<NumberBound> high,
                                       WorkBudget* work);

// All decimals without an exponent that are equal to the value: 1, 1.0, 1.00.
absl::StatusOr<CharDfa> DecimalsEqualTo(double value, WorkBudget* work);

// All decimals without an exponent that are no integers.
absl::StatusOr<CharDfa> Fractions(WorkBudget* work);

// units / 10^places, the shortest decimal that is the double.
struct DecimalStep {
  int64_t units;
  int places;
};
inline constexpr int kMostPlaces = 15;
// Returns nothing if it has more than 15 digits or kMostPlaces. value > 0.
std::optional<DecimalStep> StepOf(double value);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_NUMBER_RANGE_H_
