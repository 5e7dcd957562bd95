#ifndef TRIVIUM_MODEL_JINJA_ITEM_ORDER_H_
#define TRIVIUM_MODEL_JINJA_ITEM_ORDER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// Returns the item that a path of names and numbers leads to, as filters write
// it: "function.name", 0.
absl::StatusOr<Value> AttributePath(Heap& heap, const Value& value,
                                    const Value& path);

// Returns a (key, value) tuple for each entry.
absl::StatusOr<std::vector<Value>> EntriesOf(Heap& heap,
                                             const DictObject& dict);

// Returns the key that a value is sorted by: the value itself; for a string,
// its lower case unless case counts.
absl::StatusOr<Value> SortKey(Heap& heap, const Value& value,
                              bool case_sensitive);

// Sorts the items by their keys; equal ones keep their order. INVALID_ARGUMENT
// if two keys have no order.
absl::Status SortBy(Heap& heap, std::vector<Value> keys, bool reverse,
                    std::vector<Value>* items);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_ITEM_ORDER_H_
