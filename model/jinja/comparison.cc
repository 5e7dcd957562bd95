// Comparisons follow Python: values of different kinds are unequal, and only
// numbers, strings, lists and tuples have an order. Every comparison counts
// work in the heap, also of the items inside, since a template may compare long
// lists in a loop.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "model/jinja/operators.h"

namespace trivium::jinja {

namespace {

absl::StatusOr<bool> EqualItems(Heap& heap, const std::vector<Value>& left,
                                const std::vector<Value>& right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(const bool equal, Equals(heap, left[i], right[i]));
    if (!equal) return false;
  }
  return true;
}

absl::StatusOr<bool> EqualDicts(Heap& heap, const DictObject& left,
                                const DictObject& right) {
  if (left.entries.size() != right.entries.size()) return false;
  for (const auto& [key, value] : left.entries) {
    const Value* other = right.Find(key);
    if (other == nullptr) return false;
    TRIVIUM_ASSIGN_OR_RETURN(const bool equal, Equals(heap, value, *other));
    if (!equal) return false;
  }
  return true;
}

absl::StatusOr<bool> LessItems(Heap& heap, const std::vector<Value>& left,
                               const std::vector<Value>& right) {
  const size_t both = std::min(left.size(), right.size());
  for (size_t i = 0; i < both; ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(const bool equal, Equals(heap, left[i], right[i]));
    if (!equal) return IsLess(heap, left[i], right[i]);
  }
  return left.size() < right.size();
}

// Whole numbers are compared exactly: a double has only 53 bits.
bool LessNumbers(const Value& left, const Value& right) {
  if (left.IsWhole() && right.IsWhole()) return left.whole() < right.whole();
  return left.number() < right.number();
}

absl::StatusOr<bool> Contains(Heap& heap, const Value& value,
                              const Value& all) {
  if (all.Is(Kind::kText)) {
    if (!value.Is(Kind::kText)) {
      if (value.Is(Kind::kUndefined)) return UndefinedError(value);
      return absl::InvalidArgumentError(fmt::format(
          "'in <string>' needs a string, not a {}", TypeName(value)));
    }
    TRIVIUM_RETURN_IF_ERROR(
        heap.Spend(all.text().size() + value.text().size()));
    return Find(all.text(), value.text()) != TextView::npos;
  }
  if (all.Is(Kind::kDict)) {
    if (value.Is(Kind::kUndefined)) return false;
    if (!IsKey(value)) {
      return absl::InvalidArgumentError(
          fmt::format("a {} cannot be the key of a dict", TypeName(value)));
    }
    return all.As<DictObject>().Find(value) != nullptr;
  }
  if (all.object != nullptr && (all.Is(Kind::kList) || all.Is(Kind::kTuple) ||
                                all.Is(Kind::kRange) || all.Is(Kind::kView))) {
    for (const Value& item : all.items()) {
      TRIVIUM_ASSIGN_OR_RETURN(const bool equal, Equals(heap, item, value));
      if (equal) return true;
    }
    return false;
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(heap, all));
  for (const Value& item : items) {
    TRIVIUM_ASSIGN_OR_RETURN(const bool equal, Equals(heap, item, value));
    if (equal) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> Equals(Heap& heap, const Value& left, const Value& right) {
  TRIVIUM_RETURN_IF_ERROR(heap.Spend(kStepWork));
  if (left.IsNumber() && right.IsNumber()) {
    return left.IsWhole() && right.IsWhole() ? left.whole() == right.whole()
                                             : left.number() == right.number();
  }
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kText:
      TRIVIUM_RETURN_IF_ERROR(
          heap.Spend(std::min(left.text().size(), right.text().size())));
      return Equal(left.text(), right.text());
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      return EqualItems(heap, left.items(), right.items());
    case Kind::kDict:
      return EqualDicts(heap, left.As<DictObject>(), right.As<DictObject>());
    case Kind::kFunction:
      return left.integer == right.integer;
    default:
      return left.object == right.object;
  }
}

absl::StatusOr<bool> IsLess(Heap& heap, const Value& left, const Value& right) {
  TRIVIUM_RETURN_IF_ERROR(heap.Spend(kStepWork));
  if (left.IsNumber() && right.IsNumber()) return LessNumbers(left, right);
  if (left.Is(Kind::kUndefined)) return UndefinedError(left);
  if (right.Is(Kind::kUndefined)) return UndefinedError(right);
  if (left.Is(Kind::kText) && right.Is(Kind::kText)) {
    TRIVIUM_RETURN_IF_ERROR(
        heap.Spend(std::min(left.text().size(), right.text().size())));
    return Compare(left.text(), right.text()) < 0;
  }
  if (left.kind == right.kind &&
      (left.Is(Kind::kList) || left.Is(Kind::kTuple))) {
    return LessItems(heap, left.items(), right.items());
  }
  return absl::InvalidArgumentError(fmt::format(
      "a {} and a {} have no order", TypeName(left), TypeName(right)));
}

absl::StatusOr<bool> Compares(Heap& heap, Operator op, const Value& left,
                              const Value& right) {
  // With NaN, a >= b is not the same as "not a < b".
  const bool numbers = left.IsNumber() && right.IsNumber();
  switch (op) {
    case Operator::kEqual:
      return Equals(heap, left, right);
    case Operator::kNotEqual: {
      TRIVIUM_ASSIGN_OR_RETURN(const bool equal, Equals(heap, left, right));
      return !equal;
    }
    case Operator::kLess:
      return IsLess(heap, left, right);
    case Operator::kGreater:
      return IsLess(heap, right, left);
    case Operator::kLessOrEqual:
    case Operator::kGreaterOrEqual: {
      const bool less = op == Operator::kLessOrEqual;
      const Value& low = less ? left : right;
      const Value& high = less ? right : left;
      if (numbers) {
        TRIVIUM_ASSIGN_OR_RETURN(const bool equal, Equals(heap, low, high));
        return equal || LessNumbers(low, high);
      }
      TRIVIUM_ASSIGN_OR_RETURN(const bool greater, IsLess(heap, high, low));
      return !greater;
    }
    case Operator::kIn:
      return Contains(heap, left, right);
    default: {
      TRIVIUM_ASSIGN_OR_RETURN(const bool in, Contains(heap, left, right));
      return !in;
    }
  }
}

absl::StatusOr<std::vector<Value>> ItemsOf(Heap& heap, const Value& value) {
  std::vector<Value> items;
  switch (value.kind) {
    case Kind::kUndefined:
      return items;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
      TRIVIUM_RETURN_IF_ERROR(
          heap.Room(value.items().size() * sizeof(Value) / 4));
      return value.items();
    case Kind::kText:
      for (const char32_t c : value.text()) {
        TRIVIUM_ASSIGN_OR_RETURN(Value one, heap.NewText(Text(1, c)));
        items.push_back(std::move(one));
      }
      return items;
    case Kind::kDict:
      for (const auto& [key, _] : value.As<DictObject>().entries) {
        TRIVIUM_RETURN_IF_ERROR(heap.Spend(1));
        items.push_back(key);
      }
      return items;
    case Kind::kGenerator: {
      auto& generator = value.As<GeneratorObject>();
      if (const auto make = std::exchange(generator.make, nullptr)) {
        return make();
      }
      const Value rest = std::exchange(generator.rest, Value());
      return rest.object == nullptr ? items : rest.items();
    }
    default:
      return absl::InvalidArgumentError(
          fmt::format("a {} cannot be iterated", TypeName(value)));
  }
}

}  // namespace trivium::jinja
