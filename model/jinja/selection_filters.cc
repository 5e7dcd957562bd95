// map, select and reject return generators, as in Jinja: the work happens when
// the result is used, so a generator keeps its input and arguments alive
// (Held).
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include "base/status.h"
#include "model/jinja/environment.h"
#include "model/jinja/item_order.h"
#include "model/jinja/operators.h"

namespace trivium::jinja {

namespace {

using Items = std::vector<Value>;

// Returns the values that the generator of a filter keeps until it is used.
Items Held(const Value& value, const Arguments& arguments) {
  Items held = {value};
  for (const Value& each : arguments.positional) held.push_back(each);
  for (const auto& [_, each] : arguments.named) held.push_back(each);
  return held;
}

absl::StatusOr<Items> Mapped(Heap& heap, const Value& value,
                             const Arguments& arguments) {
  Items mapped;
  if (!IsTrue(value)) return mapped;
  TRIVIUM_ASSIGN_OR_RETURN(const Items items, ItemsOf(heap, value));
  if (arguments.positional.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                             Bind(arguments, {"attribute", "default"}, 1));
    for (const Value& item : items) {
      TRIVIUM_ASSIGN_OR_RETURN(Value found,
                               AttributePath(heap, item, *bound[0]));
      if (found.Is(Kind::kUndefined) && bound.IsGiven(1)) found = *bound[1];
      mapped.push_back(std::move(found));
    }
    return mapped;
  }
  const Value& name = arguments.positional[0];
  const Filter filter =
      name.Is(Kind::kText) ? FindFilter(Utf8Of(name.text())) : nullptr;
  if (filter == nullptr) {
    return absl::InvalidArgumentError("map names an unknown filter");
  }
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (const Value& item : items) {
    TRIVIUM_RETURN_IF_ERROR(heap.Spend(kStepWork));
    TRIVIUM_ASSIGN_OR_RETURN(Value result, filter(heap, item, rest));
    mapped.push_back(std::move(result));
  }
  return mapped;
}

absl::StatusOr<Value> MapFilter(Heap& heap, const Value& value,
                                const Arguments& arguments) {
  return heap.NewGenerator(Held(value, arguments), [&heap, value, arguments]() {
    return Mapped(heap, value, arguments);
  });
}

// Returns the items for which a test is `wanted`: a test of the item itself, or
// of its attribute that the first argument names.
absl::StatusOr<Items> Chosen(Heap& heap, const Value& value,
                             const Arguments& arguments, bool by_attribute,
                             bool wanted) {
  Items chosen;
  if (!IsTrue(value)) return chosen;
  TRIVIUM_ASSIGN_OR_RETURN(const Items items, ItemsOf(heap, value));
  const size_t at = by_attribute ? 1 : 0;
  if (arguments.positional.size() < at) {
    return absl::InvalidArgumentError("the attribute's name is missing");
  }
  Test test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > at) {
    const Value& name = arguments.positional[at];
    if (name.Is(Kind::kText)) test = FindTest(Utf8Of(name.text()));
    if (test == nullptr) {
      return absl::InvalidArgumentError("the test is unknown");
    }
    rest.positional.assign(
        arguments.positional.begin() + static_cast<ptrdiff_t>(at) + 1,
        arguments.positional.end());
    rest.named = arguments.named;
  }
  for (const Value& item : items) {
    TRIVIUM_RETURN_IF_ERROR(heap.Spend(kStepWork));
    Value tested = item;
    if (by_attribute) {
      TRIVIUM_ASSIGN_OR_RETURN(
          tested, AttributePath(heap, item, arguments.positional[0]));
    }
    bool is = IsTrue(tested);
    if (test != nullptr) {
      TRIVIUM_ASSIGN_OR_RETURN(is, test(heap, tested, rest));
    }
    if (is == wanted) chosen.push_back(item);
  }
  return chosen;
}

template <bool by_attribute, bool wanted>
absl::StatusOr<Value> ChoiceFilter(Heap& heap, const Value& value,
                                   const Arguments& arguments) {
  return heap.NewGenerator(Held(value, arguments), [&heap, value, arguments]() {
    return Chosen(heap, value, arguments, by_attribute, wanted);
  });
}

// Parses like Python's int() and float(), without underscores.
std::optional<int64_t> ReadWhole(TextView text, int64_t base) {
  std::string digits = Utf8Of(Strip(text, Side::kBoth));
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') {
    digits.erase(0, 1);
  }
  int64_t whole = 0;
  const char* end = digits.data() + digits.size();
  const auto read =
      std::from_chars(digits.data(), end, whole, static_cast<int>(base));
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return whole;
}

std::optional<double> ReadReal(TextView text) {
  std::string digits = Utf8Of(Strip(text, Side::kBoth));
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') {
    digits.erase(0, 1);
  }
  double real = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, real);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return real;
}

bool IsFromData(const Value& value) {
  if (!value.Is(Kind::kText)) return value.from_data;
  for (const char32_t c : value.text()) {
    if ((c & kFromData) != 0) return true;
  }
  return false;
}

absl::StatusOr<Value> WholeOf(double real, const Value& unset, bool from_data) {
  if (!(std::abs(real) < 9.2e18)) return unset;
  return Value::Integer(static_cast<int64_t>(real), from_data);
}

absl::StatusOr<Value> IntFilter(Heap&, const Value& value,
                                const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"default", "base"}));
  const Value unset = bound[0] == nullptr ? Value::Integer(0) : *bound[0];
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t base, bound.Whole(1, 10));
  if (base < 2 || base > 36) {
    return absl::InvalidArgumentError("a base must be 2 to 36");
  }
  const bool from_data = IsFromData(value);
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  if (value.IsWhole()) return Value::Integer(value.whole(), from_data);
  if (value.Is(Kind::kReal)) return WholeOf(value.real, unset, from_data);
  if (!value.Is(Kind::kText)) return unset;
  if (const auto whole = ReadWhole(value.text(), base)) {
    return Value::Integer(*whole, from_data);
  }
  const auto real = ReadReal(value.text());
  return real.has_value() ? WholeOf(*real, unset, from_data) : unset;
}

absl::StatusOr<Value> FloatFilter(Heap&, const Value& value,
                                  const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"default"}));
  const Value unset = bound[0] == nullptr ? Value::Real(0) : *bound[0];
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  if (value.IsNumber()) return Value::Real(value.number(), value.from_data);
  if (!value.Is(Kind::kText)) return unset;
  const auto real = ReadReal(value.text());
  return real.has_value() ? Value::Real(*real, IsFromData(value)) : unset;
}

absl::StatusOr<Value> AbsFilter(Heap&, const Value& value,
                                const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  if (value.IsWhole()) {
    return value.whole() < 0 ? Negate(value)
                             : Value::Integer(value.whole(), value.from_data);
  }
  if (value.Is(Kind::kReal)) {
    return Value::Real(std::abs(value.real), value.from_data);
  }
  return absl::InvalidArgumentError(
      fmt::format("a {} has no absolute value", TypeName(value)));
}

absl::StatusOr<Value> RoundFilter(Heap&, const Value& value,
                                  const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"precision", "method"}));
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t precision, bound.Whole(0, 0));
  TRIVIUM_ASSIGN_OR_RETURN(const auto method, bound.Text(1));
  if (!value.IsNumber() || precision < 0 || precision > 15) {
    return absl::InvalidArgumentError(
        "round needs a number and 0 to 15 digits");
  }
  const std::string how =
      method.has_value() ? Utf8Of(method->substr(0, 10)) : "common";
  if (how == "common") {
    // Python rounds whole numbers to whole numbers, and rounds decimal digits
    // correctly, as printing does.
    if (value.IsWhole()) {
      return Value::Integer(value.whole(), value.from_data);
    }
    if (!(std::abs(value.real) < 1e15)) return value;
    return Value::Real(std::stod(fmt::format("{:.{}f}", value.real, precision)),
                       value.from_data);
  }
  if (how != "ceil" && how != "floor") {
    return absl::InvalidArgumentError(
        "round's method must be 'common', 'ceil' or 'floor'");
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value.number() * scale;
  const double rounded = how == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value::Real(rounded / scale, value.from_data);
}

}  // namespace

Filter FindSelectionFilter(std::string_view name) {
  if (name == "map") return MapFilter;
  if (name == "select") return ChoiceFilter<false, true>;
  if (name == "reject") return ChoiceFilter<false, false>;
  if (name == "selectattr") return ChoiceFilter<true, true>;
  if (name == "rejectattr") return ChoiceFilter<true, false>;
  if (name == "int") return IntFilter;
  if (name == "float") return FloatFilter;
  if (name == "abs") return AbsFilter;
  if (name == "round") return RoundFilter;
  return nullptr;
}

Filter FindFilter(std::string_view name) {
  if (const Filter filter = FindTextFilter(name)) return filter;
  if (const Filter filter = FindSequenceFilter(name)) return filter;
  return FindSelectionFilter(name);
}

}  // namespace trivium::jinja
