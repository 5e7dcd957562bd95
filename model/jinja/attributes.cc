// Always:
// - A dict's key "items" hides the method of that name in value['items'], but
//   not in value.items.
// - A missing item is an undefined value with a reason, for the error of a
//   later access. So is a method that would change the value.
// - Only texts, lists, tuples and ranges have indices, and ranges have no
//   slices. Views and generators have neither.
// - A text that was cut out of another keeps the marks of its characters and
//   whether it is markup.
// - A slice costs as much work as it has items.
#include "model/jinja/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/status.h"
#include "model/jinja/method_names.h"
#include "model/jinja/operators.h"
#include "model/jinja/python_text.h"

namespace trivium::jinja {

namespace {

Value Missing(Heap& heap, const Value& value, std::string_view name) {
  return heap.NewUndefined(
      fmt::format("a {} has no '{}'", TypeName(value), name));
}

// Returns what the object itself has, without its items.
absl::StatusOr<std::optional<Value>> OwnAttribute(Heap& heap,
                                                  const Value& value,
                                                  std::string_view name) {
  if (value.Is(Kind::kNamespace)) return NamespaceAttribute(value, name);
  if (value.Is(Kind::kLoop)) {
    TRIVIUM_ASSIGN_OR_RETURN(std::optional<Value> found,
                             LoopAttribute(heap, value, name));
    if (found.has_value()) return found;
  }
  switch (MethodOf(value.kind, name)) {
    case MethodUse::kNone:
      return std::nullopt;
    case MethodUse::kAllowed:
      return heap.NewMethod(value, name);
    case MethodUse::kRefused:
      break;
  }
  return heap.NewUndefined(
      fmt::format("'{}' would change a {}, which templates may not", name,
                  TypeName(value)));
}

// Returns value[key] without attributes; nothing if there is no such item.
const Value* DictItem(const Value& value, const Value& key) {
  return IsKey(key) ? value.As<DictObject>().Find(key) : nullptr;
}

absl::StatusOr<std::optional<Value>> ItemAlone(Heap& heap, const Value& value,
                                               const Value& key) {
  if (value.Is(Kind::kDict)) {
    TRIVIUM_RETURN_IF_ERROR(heap.Spend(kStepWork));
    const Value* found = DictItem(value, key);
    if (found == nullptr) return std::nullopt;
    return *found;
  }
  if (!key.IsWhole()) return std::nullopt;
  size_t size = 0;
  if (value.Is(Kind::kText)) {
    size = value.text().size();
  } else if (value.Is(Kind::kList) || value.Is(Kind::kTuple) ||
             value.Is(Kind::kRange)) {
    size = value.items().size();
  }
  int64_t at = key.whole();
  if (at < 0) at += static_cast<int64_t>(size);
  if (at < 0 || at >= static_cast<int64_t>(size)) return std::nullopt;
  if (!value.Is(Kind::kText)) return value.items()[static_cast<size_t>(at)];
  return heap.NewText(Text(1, value.text()[static_cast<size_t>(at)]),
                      value.markup());
}

// Returns a slice's bound, limited to the sequence like in Python.
int64_t CutBound(const Value* bound, int64_t size, int64_t unset,
                 bool backward) {
  if (bound == nullptr || bound->Is(Kind::kNone)) return unset;
  int64_t at = bound->whole();
  if (at < 0) at = at < -size ? -1 : at + size;
  const int64_t low = backward ? -1 : 0;
  const int64_t high = backward ? size - 1 : size;
  return std::clamp(at, low, std::max(low, high));
}

}  // namespace

absl::StatusOr<Value> Attribute(Heap& heap, const Value& value,
                                std::string_view name) {
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  TRIVIUM_ASSIGN_OR_RETURN(std::optional<Value> found,
                           OwnAttribute(heap, value, name));
  if (found.has_value()) return *std::move(found);
  if (value.Is(Kind::kDict)) {
    const auto& dict = value.As<DictObject>();
    TRIVIUM_RETURN_IF_ERROR(heap.Spend(name.size()));
    TRIVIUM_ASSIGN_OR_RETURN(const Value key, heap.NewText(name));
    if (const Value* item = dict.Find(key); item != nullptr) return *item;
  }
  return Missing(heap, value, name);
}

absl::StatusOr<Value> Item(Heap& heap, const Value& value, const Value& key) {
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  TRIVIUM_ASSIGN_OR_RETURN(std::optional<Value> found,
                           ItemAlone(heap, value, key));
  if (found.has_value()) return *std::move(found);
  if (key.Is(Kind::kText)) {
    constexpr size_t kLongestName = 100;
    const std::string name = Utf8Of(key.text().substr(0, kLongestName));
    TRIVIUM_ASSIGN_OR_RETURN(found, OwnAttribute(heap, value, name));
    if (found.has_value()) return *std::move(found);
    return Missing(heap, value, name);
  }
  return heap.NewUndefined(
      fmt::format("a {} has no such item", TypeName(value)));
}

absl::StatusOr<Value> Slice(Heap& heap, const Value& value, const Value* from,
                            const Value* to, const Value* step_value) {
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  const bool is_text = value.Is(Kind::kText);
  if (!is_text && !value.Is(Kind::kList) && !value.Is(Kind::kTuple)) {
    return absl::InvalidArgumentError(
        fmt::format("a {} cannot be sliced", TypeName(value)));
  }
  for (const Value* bound : {from, to, step_value}) {
    if (bound != nullptr && !bound->Is(Kind::kNone) && !bound->IsWhole()) {
      return absl::InvalidArgumentError(
          "the bounds of a slice must be whole numbers");
    }
  }
  const int64_t step = step_value == nullptr || step_value->Is(Kind::kNone)
                           ? 1
                           : step_value->whole();
  if (step == 0) return absl::InvalidArgumentError("a slice's step is 0");
  const auto size = static_cast<int64_t>(is_text ? value.text().size()
                                                 : value.items().size());
  const bool backward = step < 0;
  int64_t at = CutBound(from, size, backward ? size - 1 : 0, backward);
  const int64_t end = CutBound(to, size, backward ? -1 : size, backward);
  std::vector<size_t> places;
  while (backward ? at > end : at < end) {
    places.push_back(static_cast<size_t>(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  TRIVIUM_RETURN_IF_ERROR(heap.Spend(places.size()));
  if (is_text) {
    Text text;
    for (const size_t place : places) text.push_back(value.text()[place]);
    return heap.NewText(std::move(text), value.markup());
  }
  std::vector<Value> items;
  for (const size_t place : places) items.push_back(value.items()[place]);
  return heap.NewList(std::move(items), value.kind);
}

std::optional<Value> NamespaceAttribute(const Value& value,
                                        std::string_view name) {
  const Value* found = value.As<NamespaceObject>().Find(name);
  if (found == nullptr) return std::nullopt;
  return *found;
}

absl::StatusOr<std::optional<Value>> LoopAttribute(Heap& heap,
                                                   const Value& value,
                                                   std::string_view name) {
  const auto& loop = value.As<LoopObject>();
  const auto index = static_cast<int64_t>(loop.index);
  const auto size = static_cast<int64_t>(loop.items.size());
  if (name == "index") return Value::Integer(index + 1);
  if (name == "index0") return Value::Integer(index);
  if (name == "revindex") return Value::Integer(size - index);
  if (name == "revindex0") return Value::Integer(size - index - 1);
  if (name == "first") return Value::Boolean(index == 0);
  if (name == "last") return Value::Boolean(index + 1 == size);
  if (name == "length") return Value::Integer(size);
  if (name == "depth") return Value::Integer(1);
  if (name == "depth0") return Value::Integer(0);
  if (name == "previtem") {
    if (index == 0) return heap.NewUndefined("there is no previous item");
    return loop.items[loop.index - 1];
  }
  if (name == "nextitem") {
    if (index + 1 == size) return heap.NewUndefined("there is no next item");
    return loop.items[loop.index + 1];
  }
  return std::nullopt;
}

}  // namespace trivium::jinja
