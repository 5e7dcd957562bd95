#include "model/jinja/item_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "model/jinja/attributes.h"
#include "model/jinja/operators.h"

namespace trivium::jinja {

absl::StatusOr<Value> AttributePath(Heap& heap, const Value& value,
                                    const Value& path) {
  if (!path.Is(Kind::kText)) return Item(heap, value, path);
  Value at = value;
  for (const TextView part : Split(path.text(), U".", -1, false)) {
    Value key;
    const bool number = !part.empty() && part.size() < 10 &&
                        std::all_of(part.begin(), part.end(), [](char32_t c) {
                          return CodeOf(c) >= '0' && CodeOf(c) <= '9';
                        });
    if (number) {
      key = Value::Integer(std::atoll(Utf8Of(part).c_str()));
    } else {
      TRIVIUM_ASSIGN_OR_RETURN(key, heap.NewText(Text(part)));
    }
    TRIVIUM_ASSIGN_OR_RETURN(at, Item(heap, at, key));
  }
  return at;
}

absl::StatusOr<std::vector<Value>> EntriesOf(Heap& heap,
                                             const DictObject& dict) {
  std::vector<Value> entries;
  for (const auto& [key, value] : dict.entries) {
    TRIVIUM_ASSIGN_OR_RETURN(Value entry,
                             heap.NewList({key, value}, Kind::kTuple));
    entries.push_back(std::move(entry));
  }
  return entries;
}

absl::StatusOr<Value> SortKey(Heap& heap, const Value& value,
                              bool case_sensitive) {
  if (case_sensitive || !value.Is(Kind::kText)) return value;
  return heap.NewText(Lower(value.text()));
}

absl::Status SortBy(Heap& heap, std::vector<Value> keys, bool reverse,
                    std::vector<Value>* items) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  // A merge sort of our own, because std::sort requires that all keys have an
  // order.
  absl::Status status;
  const auto goes_before = [&](size_t a, size_t b) {
    const auto less = reverse ? IsLess(heap, keys[b], keys[a])
                              : IsLess(heap, keys[a], keys[b]);
    if (!less.ok()) status = less.status();
    return less.ok() && *less;
  };
  std::vector<size_t> merged(order.size());
  for (size_t run = 1; run < order.size(); run *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * run) {
      const size_t middle = std::min(begin + run, order.size());
      const size_t end = std::min(begin + 2 * run, order.size());
      size_t left = begin;
      size_t right = middle;
      for (size_t to = begin; to < end; ++to) {
        const bool from_right =
            left == middle ||
            (right < end && goes_before(order[right], order[left]));
        if (!status.ok()) return status;
        merged[to] = from_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(std::move((*items)[i]));
  *items = std::move(sorted);
  return absl::OkStatus();
}

}  // namespace trivium::jinja
