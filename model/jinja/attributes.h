#ifndef TRIVIUM_MODEL_JINJA_ATTRIBUTES_H_
#define TRIVIUM_MODEL_JINJA_ATTRIBUTES_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// value.name and value[key], as Jinja's sandbox looks them up: an attribute
// first and then an item, or the other way round. What is not there is
// undefined; to ask an undefined value for anything is INVALID_ARGUMENT.
absl::StatusOr<Value> Attribute(Heap& heap, const Value& value,
                                std::string_view name);
absl::StatusOr<Value> Item(Heap& heap, const Value& value, const Value& key);

// value[from:to:step]; nullptr where one is left out.
absl::StatusOr<Value> Slice(Heap& heap, const Value& value, const Value* from,
                            const Value* to, const Value* step);

// What `namespace` and `loop` have of a name; none: nothing.
std::optional<Value> NamespaceAttribute(const Value& value,
                                        std::string_view name);
absl::StatusOr<std::optional<Value>> LoopAttribute(Heap& heap,
                                                   const Value& value,
                                                   std::string_view name);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_ATTRIBUTES_H_
