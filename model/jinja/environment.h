#ifndef TRIVIUM_MODEL_JINJA_ENVIRONMENT_H_
#define TRIVIUM_MODEL_JINJA_ENVIRONMENT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/jinja/arguments.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// Filters, tests, functions and methods by name. A null pointer or -1 means
// that there is none, and a template that uses it is refused. They are Jinja's,
// in Transformers' setup (its tojson, raise_exception and strftime_now), and
// from_json, which templates written for llama.cpp use.
using Filter = absl::StatusOr<Value> (*)(Heap& heap, const Value& value,
                                         const Arguments& arguments);
using Test = absl::StatusOr<bool> (*)(Heap& heap, const Value& value,
                                      const Arguments& arguments);

Filter FindFilter(std::string_view name);
Test FindTest(std::string_view name);
// Returns the index for Value::Function.
int FindFunction(std::string_view name);

// The outside facts that functions may use.
struct Surroundings {
  absl::Time now;
  absl::TimeZone zone;
};

absl::StatusOr<Value> CallFunction(Heap& heap, int64_t function,
                                   const Arguments& arguments,
                                   const Surroundings& surroundings);
absl::StatusOr<Value> CallMethod(Heap& heap, const Value& method,
                                 const Arguments& arguments);

// The lookups of single files, which the functions above use.
Filter FindTextFilter(std::string_view name);
Filter FindSequenceFilter(std::string_view name);
Filter FindSelectionFilter(std::string_view name);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_ENVIRONMENT_H_
