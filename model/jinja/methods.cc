#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/status.h"
#include "model/jinja/environment.h"
#include "model/jinja/format_text.h"
#include "model/jinja/item_order.h"
#include "model/jinja/operators.h"
#include "model/jinja/text_methods.h"

namespace trivium::jinja {

namespace {

absl::StatusOr<Value> DictMethod(Heap& heap, const Value& self,
                                 std::string_view name,
                                 const Arguments& arguments) {
  const auto& dict = self.As<DictObject>();
  if (name == "get") {
    if (!arguments.named.empty()) {
      return absl::InvalidArgumentError("get has no named arguments");
    }
    TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                             Bind(arguments, {"key", "default"}, 1));
    if (bound[0]->Is(Kind::kUndefined)) {
      return bound[1] == nullptr ? Value::None() : *bound[1];
    }
    if (!IsKey(*bound[0])) {
      return absl::InvalidArgumentError(
          fmt::format("a {} cannot be the key of a dict", TypeName(*bound[0])));
    }
    const Value* found = dict.Find(*bound[0]);
    if (found != nullptr) return *found;
    return bound[1] == nullptr ? Value::None() : *bound[1];
  }
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  if (name == "items") {
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> entries, EntriesOf(heap, dict));
    return heap.NewList(std::move(entries), Kind::kView, "dict_items");
  }
  std::vector<Value> items;
  TRIVIUM_RETURN_IF_ERROR(heap.Spend(dict.entries.size()));
  for (const auto& [key, value] : dict.entries) {
    items.push_back(name == "keys" ? key : value);
  }
  return heap.NewList(std::move(items), Kind::kView,
                      name == "keys" ? "dict_keys" : "dict_values");
}

absl::StatusOr<Value> ListMethod(Heap& heap, const Value& self,
                                 std::string_view name,
                                 const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound, Bind(arguments, {"value"}, 1));
  int64_t count = 0;
  for (size_t i = 0; i < self.items().size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(const bool equal,
                             Equals(heap, self.items()[i], *bound[0]));
    if (equal && name == "index") {
      return Value::Integer(static_cast<int64_t>(i));
    }
    if (equal) ++count;
  }
  if (name == "index") {
    return absl::InvalidArgumentError("the list has no such item");
  }
  return Value::Integer(count);
}

absl::StatusOr<Value> Cycle(const Value& self, const Arguments& arguments) {
  const std::vector<Value>& values = arguments.positional;
  if (values.empty() || !arguments.named.empty()) {
    return absl::InvalidArgumentError("cycle needs at least one argument");
  }
  return values[self.As<LoopObject>().index % values.size()];
}

}  // namespace

absl::StatusOr<Value> CallMethod(Heap& heap, const Value& method,
                                 const Arguments& arguments) {
  const auto& object = method.As<MethodObject>();
  const Value& self = object.self;
  const std::string_view name = object.name;
  switch (self.kind) {
    case Kind::kText:
      return CallTextMethod(heap, self, name, arguments);
    case Kind::kDict:
      if (name == "get" || name == "items" || name == "keys" ||
          name == "values") {
        return DictMethod(heap, self, name, arguments);
      }
      break;
    case Kind::kList:
    case Kind::kTuple:
      if (name == "count" || name == "index") {
        return ListMethod(heap, self, name, arguments);
      }
      break;
    case Kind::kLoop:
      return Cycle(self, arguments);
    default:
      break;
  }
  return absl::InvalidArgumentError(fmt::format(
      "the method '{}' of a {} is not supported", name, TypeName(self)));
}

}  // namespace trivium::jinja
