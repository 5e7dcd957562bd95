#ifndef TRIVIUM_MODEL_JINJA_PYTHON_TEXT_H_
#define TRIVIUM_MODEL_JINJA_PYTHON_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// Python's repr of a float: the shortest digits that read back as `value`.
std::string RealText(double value);

// Appends Python's str(value), which {{ value }} prints. INVALID_ARGUMENT for
// values that Python prints as addresses (macros, generators).
absl::Status AppendText(Heap& heap, const Value& value, Text* text);
absl::StatusOr<Value> TextOf(Heap& heap, const Value& value);

// Appends repr(value).
absl::Status AppendRepr(Heap& heap, const Value& value, Text* text);

// Appends characters that the template writes, or (`from_data`) that a number
// of the request prints.
void AppendAscii(std::string_view ascii, bool from_data, Text* text);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_PYTHON_TEXT_H_
