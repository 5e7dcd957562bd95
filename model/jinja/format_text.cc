#include "model/jinja/format_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/status.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

absl::Status NotFormatted(TextView field) {
  return absl::InvalidArgumentError(fmt::format(
      "the format '{}' is not supported; of % only %s, %r, %d and %% are, and "
      "of format only {{}}, {{0}} and {{name}}",
      Utf8Of(field.substr(0, 40))));
}

absl::Status AppendField(Heap& heap, char32_t kind, const Value& value,
                         Text* result) {
  switch (kind) {
    case 's':
      return AppendText(heap, value, result);
    case 'r':
      return AppendRepr(heap, value, result);
    default: {  // d
      if (!value.IsNumber() ||
          (value.Is(Kind::kReal) && !(std::abs(value.real) < 9e18))) {
        return absl::InvalidArgumentError(
            fmt::format("%d needs a number, not a {}", TypeName(value)));
      }
      const int64_t whole = value.Is(Kind::kReal)
                                ? static_cast<int64_t>(value.real)
                                : value.whole();
      AppendAscii(fmt::format("{}", whole), value.from_data, result);
      return absl::OkStatus();
    }
  }
}

absl::Status NoMarkup(const Value& text) {
  if (!text.markup()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a text of the filter safe cannot be a format");
}

}  // namespace

absl::StatusOr<Value> PercentFormat(Heap& heap, const Value& text,
                                    const Value& values) {
  TRIVIUM_RETURN_IF_ERROR(NoMarkup(text));
  const bool many = values.Is(Kind::kTuple);
  size_t next = 0;
  Text result;
  const TextView format = text.text();
  for (size_t i = 0; i < format.size(); ++i) {
    if (CodeOf(format[i]) != '%') {
      result.push_back(format[i]);
      continue;
    }
    const char32_t kind = i + 1 < format.size() ? CodeOf(format[i + 1]) : 0;
    if (kind == '%') {
      result.push_back(format[i]);
    } else if (kind == 's' || kind == 'd' || kind == 'r') {
      if (next >= (many ? values.items().size() : 1)) {
        return absl::InvalidArgumentError(
            "a format has more fields than values");
      }
      TRIVIUM_RETURN_IF_ERROR(AppendField(
          heap, kind, many ? values.items()[next] : values, &result));
      ++next;
    } else {
      return NotFormatted(format.substr(i, 2));
    }
    ++i;
  }
  // Like Python: a value that has items by key or place may stay unused.
  const bool may_be_unused = values.Is(Kind::kDict) || values.Is(Kind::kList) ||
                             values.Is(Kind::kRange) ||
                             values.Is(Kind::kUndefined);
  const bool unused =
      many ? next < values.items().size() : next == 0 && !may_be_unused;
  if (unused) {
    return absl::InvalidArgumentError("a format has fewer fields than values");
  }
  return heap.NewText(std::move(result));
}

absl::StatusOr<Value> BraceFormat(Heap& heap, const Value& text,
                                  const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(NoMarkup(text));
  const TextView format = text.text();
  Text result;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    const char32_t c = CodeOf(format[i]);
    if (c != '{' && c != '}') {
      result.push_back(format[i]);
      continue;
    }
    if (i + 1 < format.size() && CodeOf(format[i + 1]) == c) {  // {{ or }}
      result.push_back(format[i++]);
      continue;
    }
    const size_t end = c == '{' ? Find(format, U"}", i) : TextView::npos;
    if (end == TextView::npos) return NotFormatted(format.substr(i));
    const std::string name = Utf8Of(format.substr(i + 1, end - i - 1));
    const Value* value = nullptr;
    const bool numbered = !name.empty() && name.size() < 4 &&
                          name.find_first_not_of("0123456789") == name.npos;
    if (name.empty() || numbered) {
      const size_t at = name.empty() ? next++ : std::stoul(name);
      if (at < arguments.positional.size()) value = &arguments.positional[at];
    } else {
      for (const auto& [known, given] : arguments.named) {
        if (known == name) value = &given;
      }
      if (name.find_first_of(".[:!") != name.npos) {
        return NotFormatted(format.substr(i, end - i + 1));
      }
    }
    if (value == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("the format's field '{}' has no value", name));
    }
    TRIVIUM_RETURN_IF_ERROR(AppendText(heap, *value, &result));
    i = end;
  }
  return heap.NewText(std::move(result));
}

absl::StatusOr<Value> ReplaceText(Heap& heap, TextView text, TextView part,
                                  TextView by, int64_t most, bool markup) {
  TRIVIUM_RETURN_IF_ERROR(heap.Spend(2 * text.size() + part.size()));
  size_t count = Count(text, part);
  if (most >= 0) count = std::min(count, static_cast<size_t>(most));
  size_t more = 0;
  if (__builtin_mul_overflow(count, by.size(), &more)) more = SIZE_MAX / 2;
  TRIVIUM_RETURN_IF_ERROR(heap.Room(text.size() + more));
  return heap.NewText(Replace(text, part, by, most), markup);
}

absl::StatusOr<Value> JoinText(Heap& heap, TextView separator,
                               const std::vector<Value>& items) {
  Text text;
  size_t size = 0;
  for (const Value& item : items) {
    if (item.Is(Kind::kText)) size += item.text().size();
    size += separator.size();
  }
  TRIVIUM_RETURN_IF_ERROR(heap.Room(size));
  text.reserve(size);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    if (items[i].Is(Kind::kText)) {
      text += items[i].text();
    } else {
      TRIVIUM_RETURN_IF_ERROR(AppendText(heap, items[i], &text));
    }
  }
  return heap.NewText(std::move(text));
}

}  // namespace trivium::jinja
