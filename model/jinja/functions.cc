#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/status.h"
#include "model/jinja/environment.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

absl::StatusOr<Value> Range(Heap& heap, const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"start", "stop", "step"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t first, bound.Whole(0, 0));
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t second, bound.Whole(1, 0));
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t step, bound.Whole(2, 1));
  const int64_t from = bound[1] == nullptr ? 0 : first;
  const int64_t to = bound[1] == nullptr ? first : second;
  if (step == 0) return absl::InvalidArgumentError("range's step is 0");
  std::vector<Value> items;
  constexpr size_t kLongest = 100000;  // as in Jinja's sandbox
  for (int64_t at = from; step > 0 ? at < to : at > to;) {
    if (items.size() == kLongest) {
      return absl::InvalidArgumentError(
          fmt::format("a range has at most {} numbers", kLongest));
    }
    items.push_back(Value::Integer(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return heap.NewList(std::move(items), Kind::kRange,
                      step == 1
                          ? fmt::format("range({}, {})", from, to)
                          : fmt::format("range({}, {}, {})", from, to, step));
}

// Returns the entries of a dict, then the named arguments.
absl::StatusOr<std::vector<std::pair<Value, Value>>> Entries(
    Heap& heap, const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> entries;
  if (arguments.positional.size() > 1) {
    return absl::InvalidArgumentError(
        "at most one dict and named values are allowed");
  }
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (!from.Is(Kind::kDict)) {
      return absl::InvalidArgumentError(
          fmt::format("a {} is not a dict", TypeName(from)));
    }
    entries = from.As<DictObject>().entries;
  }
  for (const auto& [name, value] : arguments.named) {
    TRIVIUM_ASSIGN_OR_RETURN(Value key, heap.NewText(name));
    entries.emplace_back(std::move(key), value);
  }
  return entries;
}

absl::StatusOr<Value> Namespace(Heap& heap, const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto entries, Entries(heap, arguments));
  TRIVIUM_ASSIGN_OR_RETURN(Value space, heap.NewNamespace());
  for (const auto& [key, value] : entries) {
    if (!key.Is(Kind::kText)) {
      return absl::InvalidArgumentError(
          "the names in a namespace must be strings");
    }
    TRIVIUM_RETURN_IF_ERROR(heap.Spend(kStepWork));
    space.As<NamespaceObject>().Set(Utf8Of(key.text()), value);
  }
  return space;
}

absl::StatusOr<Value> RaiseException(Heap& heap, const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"message"}, 1));
  Text text;
  TRIVIUM_RETURN_IF_ERROR(AppendText(heap, *bound[0], &text));
  constexpr size_t kLongest = 500;
  return absl::InvalidArgumentError(
      fmt::format("the model's template says: {}",
                  Utf8Of(TextView(text).substr(0, kLongest))));
}

absl::StatusOr<Value> StrftimeNow(Heap& heap, const Arguments& arguments,
                                  const Surroundings& surroundings) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"format"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(const auto format, bound.Text(0));
  constexpr std::string_view kFields = "aAbBdHIjmMpSUwWyYZz%";
  const std::string wanted =
      format.has_value() ? Utf8Of(format->substr(0, 200)) : "";
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != '%') continue;
    if (++i == wanted.size() || kFields.find(wanted[i]) == kFields.npos) {
      return absl::InvalidArgumentError(
          fmt::format("strftime_now supports % with one of {}", kFields));
    }
  }
  return heap.NewText(
      absl::FormatTime(wanted, surroundings.now, surroundings.zone));
}

constexpr std::array<std::string_view, 5> kFunctions = {
    "range", "dict", "namespace", "raise_exception", "strftime_now"};

}  // namespace

int FindFunction(std::string_view name) {
  const auto found = std::find(kFunctions.begin(), kFunctions.end(), name);
  return found == kFunctions.end()
             ? -1
             : static_cast<int>(found - kFunctions.begin());
}

absl::StatusOr<Value> CallFunction(Heap& heap, int64_t function,
                                   const Arguments& arguments,
                                   const Surroundings& surroundings) {
  switch (function) {
    case 0:
      return Range(heap, arguments);
    case 1: {
      TRIVIUM_ASSIGN_OR_RETURN(auto entries, Entries(heap, arguments));
      return heap.NewDict(std::move(entries));
    }
    case 2:
      return Namespace(heap, arguments);
    case 3:
      return RaiseException(heap, arguments);
    default:
      return StrftimeNow(heap, arguments, surroundings);
  }
}

}  // namespace trivium::jinja
