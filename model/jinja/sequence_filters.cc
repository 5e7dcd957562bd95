#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>

#include "base/status.h"
#include "model/jinja/attributes.h"
#include "model/jinja/environment.h"
#include "model/jinja/format_text.h"
#include "model/jinja/item_order.h"
#include "model/jinja/operators.h"

namespace trivium::jinja {

namespace {

absl::Status WrongType(std::string_view what, const Value& value) {
  return absl::InvalidArgumentError(
      fmt::format("a {} has no {}", TypeName(value), what));
}

absl::StatusOr<Value> DefaultFilter(Heap& heap, const Value& value,
                                    const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"default_value", "boolean"}));
  const bool unset =
      value.Is(Kind::kUndefined) || (bound.IsTrue(1) && !IsTrue(value));
  if (!unset) return value;
  return bound[0] == nullptr ? heap.NewText(Text()) : *bound[0];
}

absl::StatusOr<Value> LengthFilter(Heap&, const Value& value,
                                   const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  size_t size = 0;
  switch (value.kind) {
    case Kind::kUndefined:
      break;
    case Kind::kText:
      size = value.text().size();
      break;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
      size = value.items().size();
      break;
    case Kind::kDict:
      size = value.As<DictObject>().entries.size();
      break;
    case Kind::kLoop:
      size = value.As<LoopObject>().items.size();
      break;
    default:
      return WrongType("length", value);
  }
  return Value::Integer(static_cast<int64_t>(size));
}

absl::StatusOr<Value> ListFilter(Heap& heap, const Value& value,
                                 const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(heap, value));
  return heap.NewList(std::move(items));
}

absl::StatusOr<Value> FirstFilter(Heap& heap, const Value& value,
                                  const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(heap, value));
  if (items.empty()) return heap.NewUndefined("an empty list has no first");
  Value first = items.front();
  if (value.Is(Kind::kGenerator)) {  // a generator keeps the others
    items.erase(items.begin());
    TRIVIUM_ASSIGN_OR_RETURN(value.As<GeneratorObject>().rest,
                             heap.NewList(std::move(items)));
  }
  return first;
}

absl::StatusOr<Value> LastFilter(Heap& heap, const Value& value,
                                 const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  if (value.Is(Kind::kGenerator)) return WrongType("last item", value);
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(heap, value));
  if (items.empty()) return heap.NewUndefined("an empty list has no last");
  return std::move(items.back());
}

absl::StatusOr<Value> JoinFilter(Heap& heap, const Value& value,
                                 const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"d", "attribute"}));
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(heap, value));
  if (bound.IsGiven(1)) {
    for (Value& item : items) {
      TRIVIUM_ASSIGN_OR_RETURN(item, AttributePath(heap, item, *bound[1]));
    }
  }
  Value separator;
  if (bound[0] != nullptr) {
    TRIVIUM_ASSIGN_OR_RETURN(separator, heap.NewText(Text()));
    if (!bound[0]->Is(Kind::kText)) {
      TRIVIUM_ASSIGN_OR_RETURN(separator,
                               FindFilter("string")(heap, *bound[0], {}));
    } else {
      separator = *bound[0];
    }
  }
  return JoinText(heap, bound[0] == nullptr ? TextView() : separator.text(),
                  items);
}

absl::StatusOr<Value> ReverseFilter(Heap& heap, const Value& value,
                                    const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  if (value.Is(Kind::kText)) {
    return heap.NewText(Text(value.text().rbegin(), value.text().rend()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(heap, value));
  std::reverse(items.begin(), items.end());
  return heap.NewGenerator(std::move(items));
}

absl::StatusOr<Value> ItemsFilter(Heap& heap, const Value& value,
                                  const Arguments& arguments) {
  TRIVIUM_RETURN_IF_ERROR(Bind(arguments, {}).status());
  return heap.NewGenerator(
      {&value, 1}, [&heap, value]() -> absl::StatusOr<std::vector<Value>> {
        if (value.Is(Kind::kUndefined)) return std::vector<Value>();
        if (!value.Is(Kind::kDict)) {
          return absl::InvalidArgumentError(fmt::format(
              "a {} has no items; only a dict has", TypeName(value)));
        }
        return EntriesOf(heap, value.As<DictObject>());
      });
}

absl::StatusOr<Value> DictSortFilter(Heap& heap, const Value& value,
                                     const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const Bound bound, Bind(arguments, {"case_sensitive", "by", "reverse"}));
  if (!value.Is(Kind::kDict)) return WrongType("items to sort", value);
  TRIVIUM_ASSIGN_OR_RETURN(const auto by, bound.Text(1));
  if (by.has_value() && !Equal(*by, U"key") && !Equal(*by, U"value")) {
    return absl::InvalidArgumentError("dictsort sorts by 'key' or 'value'");
  }
  const size_t which = by.has_value() && Equal(*by, U"value") ? 1 : 0;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> entries,
                           EntriesOf(heap, value.As<DictObject>()));
  std::vector<Value> keys;
  for (const Value& entry : entries) {
    TRIVIUM_ASSIGN_OR_RETURN(
        Value key, SortKey(heap, entry.items()[which], bound.IsTrue(0)));
    keys.push_back(std::move(key));
  }
  TRIVIUM_RETURN_IF_ERROR(
      SortBy(heap, std::move(keys), bound.IsTrue(2), &entries));
  return heap.NewList(std::move(entries));
}

absl::StatusOr<Value> SortFilter(Heap& heap, const Value& value,
                                 const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const Bound bound,
      Bind(arguments, {"reverse", "case_sensitive", "attribute"}));
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(heap, value));
  std::vector<Value> keys;
  for (const Value& item : items) {
    Value key = item;
    if (bound.IsGiven(2)) {
      TRIVIUM_ASSIGN_OR_RETURN(key, AttributePath(heap, item, *bound[2]));
    }
    TRIVIUM_ASSIGN_OR_RETURN(key, SortKey(heap, key, bound.IsTrue(1)));
    keys.push_back(std::move(key));
  }
  TRIVIUM_RETURN_IF_ERROR(
      SortBy(heap, std::move(keys), bound.IsTrue(0), &items));
  return heap.NewList(std::move(items));
}

absl::StatusOr<Value> UniqueFilter(Heap& heap, const Value& value,
                                   const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"case_sensitive", "attribute"}));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Value> items,
                           ItemsOf(heap, value));
  std::vector<Value> kept;
  std::vector<Value> keys;
  for (const Value& item : items) {
    Value key = item;
    if (bound.IsGiven(1)) {
      TRIVIUM_ASSIGN_OR_RETURN(key, AttributePath(heap, item, *bound[1]));
    }
    TRIVIUM_ASSIGN_OR_RETURN(key, SortKey(heap, key, bound.IsTrue(0)));
    if (key.Is(Kind::kList) || key.Is(Kind::kDict)) {
      return absl::InvalidArgumentError(
          fmt::format("a {} cannot be compared with others", TypeName(key)));
    }
    bool known = false;
    for (const Value& other : keys) {
      TRIVIUM_ASSIGN_OR_RETURN(known, Equals(heap, key, other));
      if (known) break;
    }
    if (known) continue;
    keys.push_back(std::move(key));
    kept.push_back(item);
  }
  return heap.NewGenerator(std::move(kept));
}

absl::StatusOr<Value> Extreme(Heap& heap, const Value& value,
                              const Arguments& arguments, bool largest) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"case_sensitive", "attribute"}));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Value> items,
                           ItemsOf(heap, value));
  if (items.empty()) return heap.NewUndefined("an empty list has no extremes");
  size_t best = 0;
  Value best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key = items[i];
    if (bound.IsGiven(1)) {
      TRIVIUM_ASSIGN_OR_RETURN(key, AttributePath(heap, key, *bound[1]));
    }
    TRIVIUM_ASSIGN_OR_RETURN(key, SortKey(heap, key, bound.IsTrue(0)));
    bool better = i == 0;
    if (i > 0) {
      TRIVIUM_ASSIGN_OR_RETURN(better, largest ? IsLess(heap, best_key, key)
                                               : IsLess(heap, key, best_key));
    }
    if (better) {
      best = i;
      best_key = std::move(key);
    }
  }
  return items[best];
}

absl::StatusOr<Value> MinFilter(Heap& heap, const Value& value,
                                const Arguments& arguments) {
  return Extreme(heap, value, arguments, false);
}
absl::StatusOr<Value> MaxFilter(Heap& heap, const Value& value,
                                const Arguments& arguments) {
  return Extreme(heap, value, arguments, true);
}

absl::StatusOr<Value> SumFilter(Heap& heap, const Value& value,
                                const Arguments& arguments) {
  TRIVIUM_ASSIGN_OR_RETURN(const Bound bound,
                           Bind(arguments, {"attribute", "start"}));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Value> items,
                           ItemsOf(heap, value));
  Value sum = bound[1] == nullptr ? Value::Integer(0) : *bound[1];
  if (sum.Is(Kind::kText)) {
    return absl::InvalidArgumentError("strings cannot be summed; join them");
  }
  for (Value item : items) {
    if (bound.IsGiven(0)) {
      TRIVIUM_ASSIGN_OR_RETURN(item, AttributePath(heap, item, *bound[0]));
    }
    TRIVIUM_ASSIGN_OR_RETURN(sum, Arithmetic(heap, Operator::kAdd, sum, item));
  }
  return sum;
}

}  // namespace

Filter FindSequenceFilter(std::string_view name) {
  if (name == "default" || name == "d") return DefaultFilter;
  if (name == "length" || name == "count") return LengthFilter;
  if (name == "list") return ListFilter;
  if (name == "first") return FirstFilter;
  if (name == "last") return LastFilter;
  if (name == "join") return JoinFilter;
  if (name == "reverse") return ReverseFilter;
  if (name == "items") return ItemsFilter;
  if (name == "dictsort") return DictSortFilter;
  if (name == "sort") return SortFilter;
  if (name == "unique") return UniqueFilter;
  if (name == "min") return MinFilter;
  if (name == "max") return MaxFilter;
  if (name == "sum") return SumFilter;
  return nullptr;
}

}  // namespace trivium::jinja
