#include "model/jinja/text_methods.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <optional>

#include "base/status.h"
#include "model/jinja/environment.h"
#include "model/jinja/format_text.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

// A call of a method: its object and its arguments.
struct Call {
  Heap& heap;
  const Value& self;
  std::string_view name;
  const Arguments& arguments;

  TextView text() const { return self.text(); }
  absl::StatusOr<Value> Result(TextView result) const {
    return heap.NewText(Text(result), self.markup());
  }
  absl::StatusOr<Value> Results(const std::vector<TextView>& results,
                                Kind kind) const {
    std::vector<Value> items;
    for (const TextView result : results) {
      TRIVIUM_ASSIGN_OR_RETURN(Value item, Result(result));
      items.push_back(std::move(item));
    }
    return heap.NewList(std::move(items), kind);
  }
};

absl::StatusOr<TextView> Required(const Bound& bound, size_t i) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto text, bound.Text(i));
  if (text.has_value()) return *text;
  return absl::InvalidArgumentError("None is given instead of a string");
}

absl::StatusOr<Value> StripMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(call.arguments, {"chars"}));
  if (bound[0] != nullptr && bound[0]->Is(Kind::kUndefined)) {
    return UndefinedError(*bound[0]);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const auto characters, bound.Text(0));
  const Side side = call.name == "strip"    ? Side::kBoth
                    : call.name == "lstrip" ? Side::kLeft
                                            : Side::kRight;
  return call.Result(Strip(call.text(), side, characters));
}

absl::StatusOr<Value> SplitMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(call.arguments, {"sep", "maxsplit"}));
  TRIVIUM_ASSIGN_OR_RETURN(const auto separator, bound.Text(0));
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t most, bound.Whole(1, -1));
  if (separator.has_value() && separator->empty()) {
    return absl::InvalidArgumentError("the separator is empty");
  }
  TRIVIUM_RETURN_IF_ERROR(call.heap.Room(2 * call.text().size()));
  return call.Results(
      Split(call.text(), separator, most, call.name == "rsplit"), Kind::kList);
}

absl::StatusOr<Value> PartitionMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(call.arguments, {"sep"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(const TextView separator, Required(bound, 0));
  if (separator.empty()) {
    return absl::InvalidArgumentError("the separator is empty");
  }
  TRIVIUM_RETURN_IF_ERROR(call.heap.Room(2 * call.text().size()));
  const bool last = call.name == "rpartition";
  const TextView text = call.text();
  const size_t at = last ? FindLast(text, separator) : Find(text, separator);
  std::vector<TextView> parts = {text, TextView(), TextView()};
  if (at == TextView::npos && last) std::swap(parts[0], parts[2]);
  if (at != TextView::npos) {
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  }
  return call.Results(parts, Kind::kTuple);
}

// startswith and endswith, with one text or a tuple of texts.
absl::StatusOr<Value> EndMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(call.arguments, {"affix"}, 1));
  const auto matches = call.name == "startswith" ? StartsWith : EndsWith;
  std::vector<Value> affixes = {*bound[0]};
  if (bound[0]->Is(Kind::kTuple)) affixes = bound[0]->items();
  for (const Value& affix : affixes) {
    if (!affix.Is(Kind::kText)) {
      return absl::InvalidArgumentError(fmt::format(
          "{} needs a string, not a {}", call.name, TypeName(affix)));
    }
    TRIVIUM_RETURN_IF_ERROR(call.heap.Spend(affix.text().size()));
    if (matches(call.text(), affix.text())) return Value::Boolean(true);
  }
  return Value::Boolean(false);
}

absl::StatusOr<Value> RemoveMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(call.arguments, {"affix"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(const TextView affix, Required(bound, 0));
  TextView text = call.text();
  if (call.name == "removeprefix" && StartsWith(text, affix)) {
    text.remove_prefix(affix.size());
  } else if (call.name == "removesuffix" && EndsWith(text, affix)) {
    text.remove_suffix(affix.size());
  }
  return call.Result(text);
}

// find, rfind, index and count, in the whole text.
absl::StatusOr<Value> FindMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(call.arguments, {"sub"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(const TextView part, Required(bound, 0));
  TRIVIUM_RETURN_IF_ERROR(call.heap.Room(2 * call.text().size()));
  if (call.name == "count") {
    return Value::Integer(static_cast<int64_t>(Count(call.text(), part)));
  }
  const size_t at = call.name == "rfind" ? FindLast(call.text(), part)
                                         : Find(call.text(), part);
  if (at != TextView::npos) return Value::Integer(static_cast<int64_t>(at));
  if (call.name == "index") {
    return absl::InvalidArgumentError("the string has no such part");
  }
  return Value::Integer(-1);
}

absl::StatusOr<Value> ReplaceMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(call.arguments, {"old", "new", "count"}, 2));
  TRIVIUM_ASSIGN_OR_RETURN(const TextView old, Required(bound, 0));
  TRIVIUM_ASSIGN_OR_RETURN(const TextView by, Required(bound, 1));
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t most, bound.Whole(2, -1));
  const bool escaped = call.self.markup() && !bound[1]->markup();
  return ReplaceText(call.heap, call.text(), old,
                     escaped ? EscapeMarkup(by) : Text(by), most,
                     call.self.markup());
}

absl::StatusOr<Value> JoinMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(call.arguments, {"iterable"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items,
                           ItemsOf(call.heap, *bound[0]));
  if (call.self.markup()) {
    return absl::InvalidArgumentError(
        "a text of the filter safe cannot join others");
  }
  for (const Value& item : items) {
    if (!item.Is(Kind::kText)) {
      return absl::InvalidArgumentError(
          fmt::format("join needs strings, not a {}", TypeName(item)));
    }
  }
  return JoinText(call.heap, call.text(), items);
}

absl::StatusOr<Value> CaseMethod(const Call& call) {
  TRIVIUM_RETURN_IF_ERROR(Bind(call.arguments, {}).status());
  TRIVIUM_RETURN_IF_ERROR(call.heap.Room(4 * call.text().size()));
  const auto map = call.name == "upper"        ? Upper
                   : call.name == "lower"      ? Lower
                   : call.name == "capitalize" ? Capitalize
                                               : Title;
  return call.Result(map(call.text()));
}

bool IsOfClass(char32_t character, std::string_view name) {
  const auto code = static_cast<UChar32>(CodeOf(character));
  const int8_t type = u_charType(code);
  const bool letter = type >= U_UPPERCASE_LETTER && type <= U_OTHER_LETTER;
  const auto numeric = static_cast<UNumericType>(
      u_getIntPropertyValue(code, UCHAR_NUMERIC_TYPE));
  if (name == "isspace") return IsSpace(character);
  if (name == "isalpha") return letter;
  if (name == "isdigit") {
    return numeric == U_NT_DECIMAL || numeric == U_NT_DIGIT;
  }
  return letter || numeric != U_NT_NONE;  // isalnum
}

absl::StatusOr<Value> ClassMethod(const Call& call) {
  TRIVIUM_RETURN_IF_ERROR(Bind(call.arguments, {}).status());
  TRIVIUM_RETURN_IF_ERROR(call.heap.Spend(call.text().size()));
  if (call.name == "islower" || call.name == "isupper") {
    TRIVIUM_ASSIGN_OR_RETURN(
        const bool is, FindTest(call.name.substr(2))(call.heap, call.self, {}));
    return Value::Boolean(is);
  }
  const TextView text = call.text();
  return Value::Boolean(!text.empty() &&
                        std::all_of(text.begin(), text.end(), [&](char32_t c) {
                          return IsOfClass(c, call.name);
                        }));
}

absl::StatusOr<Value> SplitLinesMethod(const Call& call) {
  TRIVIUM_RETURN_IF_ERROR(Bind(call.arguments, {}).status());
  TRIVIUM_RETURN_IF_ERROR(call.heap.Room(2 * call.text().size()));
  return call.Results(SplitLines(call.text()), Kind::kList);
}

absl::StatusOr<Value> ZeroFillMethod(const Call& call) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(call.arguments, {"width"}, 1));
  TRIVIUM_ASSIGN_OR_RETURN(const int64_t width, bound.Whole(0, 0));
  const TextView text = call.text();
  const auto size = static_cast<int64_t>(text.size());
  if (width <= size) return call.Result(text);
  const auto zeros = static_cast<size_t>(width - size);
  TRIVIUM_RETURN_IF_ERROR(call.heap.Room(static_cast<size_t>(width)));
  const bool sign =
      size > 0 && (CodeOf(text[0]) == '-' || CodeOf(text[0]) == '+');
  Text filled(text.substr(0, sign ? 1 : 0));
  filled += Text(zeros, U'0');
  filled += text.substr(sign ? 1 : 0);
  return call.Result(filled);
}

}  // namespace

absl::StatusOr<Value> CallTextMethod(Heap& heap, const Value& self,
                                     std::string_view name,
                                     const Arguments& arguments) {
  const Call call{heap, self, name, arguments};
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    return StripMethod(call);
  }
  if (name == "split" || name == "rsplit") return SplitMethod(call);
  if (name == "partition" || name == "rpartition") return PartitionMethod(call);
  if (name == "startswith" || name == "endswith") return EndMethod(call);
  if (name == "removeprefix" || name == "removesuffix") {
    return RemoveMethod(call);
  }
  if (name == "find" || name == "rfind" || name == "index" || name == "count") {
    return FindMethod(call);
  }
  if (name == "replace") return ReplaceMethod(call);
  if (name == "join") return JoinMethod(call);
  if (name == "format") return BraceFormat(heap, self, arguments);
  if (name == "upper" || name == "lower" || name == "capitalize" ||
      name == "title") {
    return CaseMethod(call);
  }
  if (name == "splitlines") return SplitLinesMethod(call);
  if (name == "zfill") return ZeroFillMethod(call);
  if (name == "isspace" || name == "isalpha" || name == "isdigit" ||
      name == "isalnum" || name == "islower" || name == "isupper") {
    return ClassMethod(call);
  }
  return absl::InvalidArgumentError(
      fmt::format("the method '{}' of a string is not supported", name));
}

}  // namespace trivium::jinja
