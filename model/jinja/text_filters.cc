#include <fmt/format.h>

#include <string>

#include "base/status.h"
#include "model/jinja/environment.h"
#include "model/jinja/format_text.h"
#include "model/jinja/json_text.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

// Work of a case mapping for each character; it costs more than a copy.
constexpr size_t kCaseWork = 4;

absl::StatusOr<Value> Cased(Heap& heap, const Value& value,
                            const Arguments& arguments, Text (*map)(TextView)) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  TRIVIUM_ASSIGN_OR_RETURN(const Value text, TextOf(heap, value));
  TRIVIUM_RETURN_IF_ERROR(heap.Room(kCaseWork * text.text().size()));
  return heap.NewText(map(text.text()), text.markup());
}

absl::StatusOr<Value> UpperFilter(Heap& heap, const Value& value,
                                  const Arguments& arguments) {
  return Cased(heap, value, arguments, Upper);
}
absl::StatusOr<Value> LowerFilter(Heap& heap, const Value& value,
                                  const Arguments& arguments) {
  return Cased(heap, value, arguments, Lower);
}
absl::StatusOr<Value> CapitalizeFilter(Heap& heap, const Value& value,
                                       const Arguments& arguments) {
  return Cased(heap, value, arguments, Capitalize);
}
absl::StatusOr<Value> TitleFilter(Heap& heap, const Value& value,
                                  const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Value title,
                           Cased(heap, value, arguments, TitleWords));
  return heap.NewText(
      Text(title.text()));  // Jinja joins its words, so the result is no markup
}

absl::StatusOr<Value> TrimFilter(Heap& heap, const Value& value,
                                 const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"chars"}));
  TRIVIUM_ASSIGN_OR_RETURN(const auto characters, bound.Text(0));
  TRIVIUM_ASSIGN_OR_RETURN(const Value text, TextOf(heap, value));
  return heap.NewText(Text(Strip(text.text(), Side::kBoth, characters)),
                      text.markup());
}

absl::StatusOr<Value> StringFilter(Heap& heap, const Value& value,
                                   const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  return TextOf(heap, value);
}

absl::StatusOr<Value> SafeFilter(Heap& heap, const Value& value,
                                 const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  TRIVIUM_ASSIGN_OR_RETURN(const Value text, TextOf(heap, value));
  return heap.NewText(Text(text.text()), /*markup=*/true);
}

absl::StatusOr<Value> EscapeFilter(Heap& heap, const Value& value,
                                   const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  TRIVIUM_ASSIGN_OR_RETURN(Value text, TextOf(heap, value));
  if (text.markup()) return text;
  TRIVIUM_RETURN_IF_ERROR(heap.Room(5 * text.text().size()));
  return heap.NewText(EscapeMarkup(text.text()), /*markup=*/true);
}

absl::StatusOr<Value> ReplaceFilter(Heap& heap, const Value& value,
                                    const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"old", "new", "count"}, 2));
  TRIVIUM_ASSIGN_OR_RETURN(const Value text, TextOf(heap, value));
  TRIVIUM_ASSIGN_OR_RETURN(const Value old, TextOf(heap, *bound[0]));
  TRIVIUM_ASSIGN_OR_RETURN(const Value by, TextOf(heap, *bound[1]));
  int64_t most = -1;
  if (bound.IsGiven(2)) {
    TRIVIUM_ASSIGN_OR_RETURN(most, bound.Whole(2, -1));
  }
  return ReplaceText(heap, text.text(), old.text(), by.text(), most);
}

absl::StatusOr<Value> FormatFilter(Heap& heap, const Value& value,
                                   const Arguments& arguments) {
  if (!arguments.named.empty()) {
    return absl::InvalidArgumentError("named values are not supported");
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Value text, TextOf(heap, value));
  TRIVIUM_ASSIGN_OR_RETURN(const Value values,
                           heap.NewList(arguments.positional, Kind::kTuple));
  return PercentFormat(heap, text, values);
}

absl::StatusOr<Text> IndentText(const Value* width, int64_t unset) {
  if (width != nullptr && width->Is(Kind::kText)) return Text(width->text());
  if (width != nullptr && !width->IsWhole()) {
    return absl::InvalidArgumentError(
        fmt::format("an indent must be a whole number or a string, not a {}",
                    TypeName(*width)));
  }
  constexpr int64_t kWidest = 1000;
  const int64_t spaces = width == nullptr ? unset : width->whole();
  if (spaces > kWidest) {
    return absl::InvalidArgumentError(
        fmt::format("an indent may be at most {} wide", kWidest));
  }
  return Text(static_cast<size_t>(std::max<int64_t>(spaces, 0)), U' ');
}

absl::StatusOr<Value> IndentFilter(Heap& heap, const Value& value,
                                   const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"width", "first", "blank"}));
  if (!value.Is(Kind::kText)) {
    return absl::InvalidArgumentError(
        fmt::format("a {} cannot be indented", TypeName(value)));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Text indent, IndentText(bound[0], 4));
  const bool blank = bound.IsTrue(2);
  // Like Jinja, so that a line after the last line end counts, too.
  Text whole(value.text());
  whole.push_back('\n');
  const std::vector<TextView> lines = SplitLines(whole);
  TRIVIUM_RETURN_IF_ERROR(
      heap.Room(whole.size() + lines.size() * (indent.size() + 1)));
  Text result;
  if (bound.IsTrue(1)) result += indent;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      result.push_back('\n');
      if (blank || !lines[i].empty()) result += indent;
    }
    result += lines[i];
  }
  return heap.NewText(std::move(result), value.markup());
}

absl::StatusOr<Value> ToJsonFilter(Heap& heap, const Value& value,
                                   const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const Bound bound,
      Bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = bound.IsTrue(0);
  if (bound.IsGiven(1)) {
    TRIVIUM_ASSIGN_OR_RETURN(style.indent, IndentText(bound[1], 0));
    style.item_separator.pop_back();  // lines need no space after the comma
  }
  if (bound.IsGiven(2)) {
    const Value& pair = *bound[2];
    if ((!pair.Is(Kind::kTuple) && !pair.Is(Kind::kList)) ||
        pair.items().size() != 2 || !pair.items()[0].Is(Kind::kText) ||
        !pair.items()[1].Is(Kind::kText)) {
      return absl::InvalidArgumentError("separators must be two strings");
    }
    style.item_separator = Text(pair.items()[0].text());
    style.key_separator = Text(pair.items()[1].text());
  }
  style.sort_keys = bound.IsTrue(3);
  return ToJson(heap, value, style);
}

absl::StatusOr<Value> FromJsonFilter(Heap& heap, const Value& value,
                                     const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  if (!value.Is(Kind::kText)) {
    return absl::InvalidArgumentError(
        fmt::format("a {} is not JSON", TypeName(value)));
  }
  JsonSource source;
  source.from_data = false;
  for (const char32_t c : value.text()) {
    source.from_data |= (c & kFromData) != 0;
  }
  return FromJson(heap, Utf8Of(value.text()), source);
}

}  // namespace

Filter FindTextFilter(std::string_view name) {
  if (name == "upper") return UpperFilter;
  if (name == "lower") return LowerFilter;
  if (name == "capitalize") return CapitalizeFilter;
  if (name == "title") return TitleFilter;
  if (name == "trim") return TrimFilter;
  if (name == "string") return StringFilter;
  if (name == "safe") return SafeFilter;
  if (name == "escape" || name == "e") return EscapeFilter;
  if (name == "replace") return ReplaceFilter;
  if (name == "format") return FormatFilter;
  if (name == "indent") return IndentFilter;
  if (name == "tojson") return ToJsonFilter;
  if (name == "from_json") return FromJsonFilter;
  return nullptr;
}

}  // namespace trivium::jinja
