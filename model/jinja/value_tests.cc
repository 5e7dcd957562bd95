#include <fmt/format.h>

#include <cmath>

#include "base/status.h"
#include "model/jinja/environment.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

// A test that depends on the value alone.
template <bool (*is)(const Value&)>
absl::StatusOr<bool> Plain(Heap&, const Value& value,
                           const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  return is(value);
}

template <Operator op>
absl::StatusOr<bool> Comparing(Heap& heap, const Value& value,
                               const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"other"}, 1));
  return Compares(heap, op, value, *bound[0]);
}

bool IsDefined(const Value& value) { return !value.Is(Kind::kUndefined); }
bool IsUndefined(const Value& value) { return value.Is(Kind::kUndefined); }
bool IsNone(const Value& value) { return value.Is(Kind::kNone); }
bool IsString(const Value& value) { return value.Is(Kind::kText); }
bool IsMapping(const Value& value) { return value.Is(Kind::kDict); }
bool IsNumberTest(const Value& value) { return value.IsNumber(); }
bool IsInteger(const Value& value) { return value.Is(Kind::kInteger); }
bool IsReal(const Value& value) { return value.Is(Kind::kReal); }
bool IsBoolean(const Value& value) { return value.Is(Kind::kBoolean); }
bool IsTrueTest(const Value& value) {
  return value.Is(Kind::kBoolean) && value.boolean;
}
bool IsFalseTest(const Value& value) {
  return value.Is(Kind::kBoolean) && !value.boolean;
}
// True for values with a length and items by key or place; Jinja's undefined
// counts, too.
bool IsSequence(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kText:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kDict:
      return true;
    default:
      return false;
  }
}
bool IsIterable(const Value& value) {
  return IsSequence(value) || value.Is(Kind::kView) ||
         value.Is(Kind::kGenerator) || value.Is(Kind::kLoop);
}
bool IsCallable(const Value& value) {
  return value.Is(Kind::kMacro) || value.Is(Kind::kFunction) ||
         value.Is(Kind::kMethod) || value.Is(Kind::kUndefined) ||
         value.Is(Kind::kLoop);
}

absl::StatusOr<bool> IsDivisible(Heap& heap, const Value& value,
                                 const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"num"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(
      const Value rest, Arithmetic(heap, Operator::kModulo, value, *bound[0]));
  return rest.IsNumber() && rest.number() == 0;
}

absl::StatusOr<bool> HasRemainder(Heap& heap, const Value& value,
                                  const Arguments& arguments, double wanted) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  if (!value.IsNumber()) {
    return absl::InvalidArgumentError(
        fmt::format("a {} is neither odd nor even", TypeName(value)));
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      const Value rest,
      Arithmetic(heap, Operator::kModulo, value, Value::Integer(2)));
  return rest.number() == wanted;
}
absl::StatusOr<bool> IsOdd(Heap& heap, const Value& value,
                           const Arguments& arguments) {
  return HasRemainder(heap, value, arguments, 1);
}
absl::StatusOr<bool> IsEven(Heap& heap, const Value& value,
                            const Arguments& arguments) {
  return HasRemainder(heap, value, arguments, 0);
}

// True if there are letters with case, and all of them have the case that `map`
// makes.
absl::StatusOr<bool> IsCased(Heap& heap, const Value& value,
                             const Arguments& arguments, Text (*map)(TextView),
                             Text (*other)(TextView)) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  TRIVIUM_ASSIGN_OR_RETURN(const Value text, TextOf(heap, value));
  TRIVIUM_RETURN_IF_ERROR(heap.Room(4 * text.text().size()));
  return Equal(map(text.text()), text.text()) &&
         !Equal(other(text.text()), text.text());
}
absl::StatusOr<bool> IsLower(Heap& heap, const Value& value,
                             const Arguments& arguments) {
  return IsCased(heap, value, arguments, Lower, Upper);
}
absl::StatusOr<bool> IsUpper(Heap& heap, const Value& value,
                             const Arguments& arguments) {
  return IsCased(heap, value, arguments, Upper, Lower);
}

absl::StatusOr<bool> IsSame(Heap&, const Value& value,
                            const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"other"}, 1));
  const Value& other = *bound[0];
  if (value.kind != other.kind) return false;
  if (value.Is(Kind::kNone)) return true;
  if (value.Is(Kind::kBoolean)) return value.boolean == other.boolean;
  return value.object != nullptr && value.object == other.object;
}

}  // namespace

Test FindTest(std::string_view name) {
  if (name == "defined") return Plain<IsDefined>;
  if (name == "undefined") return Plain<IsUndefined>;
  if (name == "none") return Plain<IsNone>;
  if (name == "string") return Plain<IsString>;
  if (name == "mapping") return Plain<IsMapping>;
  if (name == "number") return Plain<IsNumberTest>;
  if (name == "integer") return Plain<IsInteger>;
  if (name == "float") return Plain<IsReal>;
  if (name == "boolean") return Plain<IsBoolean>;
  if (name == "true") return Plain<IsTrueTest>;
  if (name == "false") return Plain<IsFalseTest>;
  if (name == "sequence") return Plain<IsSequence>;
  if (name == "iterable") return Plain<IsIterable>;
  if (name == "callable") return Plain<IsCallable>;
  if (name == "eq" || name == "equalto" || name == "==") {
    return Comparing<Operator::kEqual>;
  }
  if (name == "ne" || name == "!=") return Comparing<Operator::kNotEqual>;
  if (name == "lt" || name == "lessthan" || name == "<") {
    return Comparing<Operator::kLess>;
  }
  if (name == "le" || name == "<=") return Comparing<Operator::kLessOrEqual>;
  if (name == "gt" || name == "greaterthan" || name == ">") {
    return Comparing<Operator::kGreater>;
  }
  if (name == "ge" || name == ">=") {
    return Comparing<Operator::kGreaterOrEqual>;
  }
  if (name == "in") return Comparing<Operator::kIn>;
  if (name == "divisibleby") return IsDivisible;
  if (name == "odd") return IsOdd;
  if (name == "even") return IsEven;
  if (name == "lower") return IsLower;
  if (name == "upper") return IsUpper;
  if (name == "sameas") return IsSame;
  return nullptr;
}

}  // namespace trivium::jinja
