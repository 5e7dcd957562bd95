// Python's rules: / gives a float; // and % round down; booleans are 0 and 1.
// Whole numbers have 64 bits here; one that does not fit is an error.
#include <fmt/format.h>

#include <cmath>

#include "base/status.h"
#include "model/jinja/format_text.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

absl::Status Overflow() {
  return absl::InvalidArgumentError("a whole number needs more than 64 bits");
}

absl::Status DivisionByZero() {
  return absl::InvalidArgumentError("division by zero");
}

absl::StatusOr<int64_t> Power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      return Overflow();
    }
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) return Overflow();
  }
}

absl::StatusOr<Value> WholeArithmetic(Operator op, int64_t left, int64_t right,
                                      bool from_data) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::kAdd:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case Operator::kSubtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case Operator::kMultiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case Operator::kFloorDivide:
    case Operator::kModulo: {
      if (right == 0) return DivisionByZero();
      if (right == -1) {  // INT64_MIN / -1 does not fit
        overflow = __builtin_sub_overflow(0, left, &result);
        if (op == Operator::kModulo) {
          result = 0;
          overflow = false;
        }
        break;
      }
      const int64_t remainder = left % right;
      const bool down = remainder != 0 && (remainder < 0) != (right < 0);
      result = op == Operator::kModulo ? remainder + (down ? right : 0)
                                       : left / right - (down ? 1 : 0);
      break;
    }
    default: {
      TRIVIUM_ASSIGN_OR_RETURN(result, Power(left, right));
    }
  }
  if (overflow) return Overflow();
  return Value::Integer(result, from_data);
}

absl::StatusOr<Value> RealArithmetic(Operator op, double left, double right,
                                     bool from_data) {
  double result = 0;
  switch (op) {
    case Operator::kAdd:
      result = left + right;
      break;
    case Operator::kSubtract:
      result = left - right;
      break;
    case Operator::kMultiply:
      result = left * right;
      break;
    case Operator::kDivide:
      if (right == 0) return DivisionByZero();
      result = left / right;
      break;
    case Operator::kFloorDivide:
    case Operator::kModulo: {
      if (right == 0) return DivisionByZero();
      double remainder = std::fmod(left, right);
      double quotient = (left - remainder) / right;
      if (remainder != 0 && (remainder < 0) != (right < 0)) {
        remainder += right;
        quotient -= 1;
      }
      if (remainder == 0) remainder = std::copysign(0.0, right);
      const double whole = std::floor(quotient);
      result = op == Operator::kModulo
                   ? remainder
                   : (quotient - whole > 0.5 ? whole + 1 : whole);
      break;
    }
    default:
      if (left == 0 && right < 0) return DivisionByZero();
      result = std::pow(left, right);
      if (left < 0 && std::isnan(result)) {
        return absl::InvalidArgumentError("a power is not a real number");
      }
      if (std::isinf(result) && std::isfinite(left) && std::isfinite(right)) {
        return absl::InvalidArgumentError("a power is too large for a float");
      }
  }
  return Value::Real(result, from_data);
}

bool IsRepeatable(const Value& value) {
  return value.Is(Kind::kText) || value.Is(Kind::kList) ||
         value.Is(Kind::kTuple);
}

absl::StatusOr<Value> Repeat(Heap& heap, const Value& value, int64_t times) {
  const size_t size =
      value.Is(Kind::kText) ? value.text().size() : value.items().size();
  const size_t count = times > 0 && size > 0 ? static_cast<size_t>(times) : 0;
  size_t total = 0;
  if (__builtin_mul_overflow(size, count, &total)) total = SIZE_MAX;
  const size_t room = value.Is(Kind::kText) ? 1 : sizeof(Value) / 4;
  TRIVIUM_RETURN_IF_ERROR(
      heap.Room(total > SIZE_MAX / room ? SIZE_MAX : total * room));
  if (value.Is(Kind::kText)) {
    Text text;
    for (size_t i = 0; i < count; ++i) text += value.text();
    return heap.NewText(std::move(text), value.markup());
  }
  std::vector<Value> items;
  for (size_t i = 0; i < count; ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return heap.NewList(std::move(items), value.kind);
}

absl::StatusOr<Value> Join(Heap& heap, const Value& left, const Value& right) {
  if (!left.Is(Kind::kText)) {
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return heap.NewList(std::move(items), left.kind);
  }
  const bool markup = left.markup() || right.markup();
  TRIVIUM_RETURN_IF_ERROR(heap.Room(left.text().size() + right.text().size()));
  Text text;
  text.reserve(left.text().size() + right.text().size());
  for (const Value* part : {&left, &right}) {
    text += markup && !part->markup() ? EscapeMarkup(part->text())
                                      : Text(part->text());
  }
  return heap.NewText(std::move(text), markup);
}

std::string_view SignOf(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSubtract:
      return "-";
    case Operator::kMultiply:
      return "*";
    case Operator::kDivide:
      return "/";
    case Operator::kFloorDivide:
      return "//";
    case Operator::kModulo:
      return "%";
    default:
      return "**";
  }
}

}  // namespace

Text EscapeMarkup(TextView text) {
  Text result;
  for (const char32_t c : text) {
    const bool from_data = (c & kFromData) != 0;
    switch (CodeOf(c)) {
      case '&':
        AppendAscii("&amp;", from_data, &result);
        break;
      case '<':
        AppendAscii("&lt;", from_data, &result);
        break;
      case '>':
        AppendAscii("&gt;", from_data, &result);
        break;
      case '\'':
        AppendAscii("&#39;", from_data, &result);
        break;
      case '"':
        AppendAscii("&#34;", from_data, &result);
        break;
      default:
        result.push_back(c);
    }
  }
  return result;
}

absl::Status UndefinedError(const Value& value) {
  return absl::InvalidArgumentError(value.object == nullptr
                                        ? "a value is undefined"
                                        : value.As<UndefinedObject>().why);
}

absl::StatusOr<Value> Arithmetic(Heap& heap, Operator op, const Value& left,
                                 const Value& right) {
  if (op == Operator::kModulo && left.Is(Kind::kText)) {
    return PercentFormat(heap, left, right);
  }
  if (left.Is(Kind::kUndefined)) return UndefinedError(left);
  if (right.Is(Kind::kUndefined)) return UndefinedError(right);
  if (left.IsNumber() && right.IsNumber()) {
    const bool from_data = left.from_data || right.from_data;
    const bool whole = left.IsWhole() && right.IsWhole() &&
                       op != Operator::kDivide &&
                       !(op == Operator::kPower && right.whole() < 0);
    return whole ? WholeArithmetic(op, left.whole(), right.whole(), from_data)
                 : RealArithmetic(op, left.number(), right.number(), from_data);
  }
  if (op == Operator::kAdd && left.kind == right.kind && IsRepeatable(left)) {
    return Join(heap, left, right);
  }
  if (op == Operator::kMultiply && IsRepeatable(left) && right.IsWhole()) {
    return Repeat(heap, left, right.whole());
  }
  if (op == Operator::kMultiply && IsRepeatable(right) && left.IsWhole()) {
    return Repeat(heap, right, left.whole());
  }
  return absl::InvalidArgumentError(
      fmt::format("{} is not possible with a {} and a {}", SignOf(op),
                  TypeName(left), TypeName(right)));
}

absl::StatusOr<Value> Negate(const Value& value) {
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  if (value.IsWhole()) {
    int64_t result = 0;
    if (__builtin_sub_overflow(0, value.whole(), &result)) return Overflow();
    return Value::Integer(result, value.from_data);
  }
  if (value.Is(Kind::kReal)) return Value::Real(-value.real, value.from_data);
  return absl::InvalidArgumentError(
      fmt::format("- is not possible with a {}", TypeName(value)));
}

}  // namespace trivium::jinja
