#ifndef TRIVIUM_MODEL_JINJA_OPERATORS_H_
#define TRIVIUM_MODEL_JINJA_OPERATORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

enum class Operator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIn,
  kNotIn,
};

// Return what Python's operators return, in 64 bits. INVALID_ARGUMENT where
// Python raises TypeError, ZeroDivisionError and so on, or if a whole number
// does not fit.
absl::StatusOr<Value> Arithmetic(Heap& heap, Operator op, const Value& left,
                                 const Value& right);
absl::StatusOr<bool> Compares(Heap& heap, Operator op, const Value& left,
                              const Value& right);
absl::StatusOr<Value> Negate(const Value& value);

absl::StatusOr<bool> Equals(Heap& heap, const Value& left, const Value& right);
// Python's <; lists and tuples are ordered by their first difference.
absl::StatusOr<bool> IsLess(Heap& heap, const Value& left, const Value& right);

// Returns the items of a loop over the value, all at once. A generator is used
// up by it.
absl::StatusOr<std::vector<Value>> ItemsOf(Heap& heap, const Value& value);

// The error of asking an undefined value for more than its text.
absl::Status UndefinedError(const Value& value);

// Writes &, <, >, ' and " as in HTML.
Text EscapeMarkup(TextView text);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_OPERATORS_H_
