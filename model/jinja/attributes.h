#ifndef TRIVIUM_MODEL_JINJA_ATTRIBUTES_H_
#define TRIVIUM_MODEL_JINJA_ATTRIBUTES_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// value.name and value[key], looked up like in Jinja's sandbox: Attribute tries
// an attribute first and then an item, Item the other way round. A missing one
// is undefined; any access to an undefined value is INVALID_ARGUMENT.
absl::StatusOr<Value> Attribute(Heap& heap, const Value& value,
                                std::string_view name);
absl::StatusOr<Value> Item(Heap& heap, const Value& value, const Value& key);

// value[from:to:step]; nullptr for a bound that is left out.
absl::StatusOr<Value> Slice(Heap& heap, const Value& value, const Value* from,
                            const Value* to, const Value* step);

// Return the attribute of a `namespace` or of `loop`; nothing if it has none.
std::optional<Value> NamespaceAttribute(const Value& value,
                                        std::string_view name);
absl::StatusOr<std::optional<Value>> LoopAttribute(Heap& heap,
                                                   const Value& value,
                                                   std::string_view name);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_ATTRIBUTES_H_
