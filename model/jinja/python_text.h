#ifndef TRIVIUM_MODEL_JINJA_PYTHON_TEXT_H_
#define TRIVIUM_MODEL_JINJA_PYTHON_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// Python's repr of a float: the shortest digits that read back as it.
std::string RealText(double value);

// Appends Python's str(value), as {{ value }} prints it. What Python prints
// addresses of (macros, generators) has no text: INVALID_ARGUMENT.
absl::Status AppendText(Heap& heap, const Value& value, Text* text);
absl::StatusOr<Value> TextOf(Heap& heap, const Value& value);

// Appends repr(value).
absl::Status AppendRepr(Heap& heap, const Value& value, Text* text);

// Appends what is written in the template or comes of a number there.
void AppendAscii(std::string_view ascii, bool from_data, Text* text);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_PYTHON_TEXT_H_
