#ifndef TRIVIUM_MODEL_JINJA_TEXT_METHODS_H_
#define TRIVIUM_MODEL_JINJA_TEXT_METHODS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "model/jinja/arguments.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// Calls one of Python's methods of str.
absl::StatusOr<Value> CallTextMethod(Heap& heap, const Value& self,
                                     std::string_view name,
                                     const Arguments& arguments);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_TEXT_METHODS_H_
