#ifndef TRIVIUM_MODEL_JINJA_STRING_LITERAL_H_
#define TRIVIUM_MODEL_JINJA_STRING_LITERAL_H_

#include "absl/status/statusor.h"
#include "model/jinja/text.h"

namespace trivium::jinja {

// Returns the contents of a string literal with Python's escapes resolved (\n,
// \x41, \u00e9, ...). Unknown escapes stay as they are. INVALID_ARGUMENT if an
// escape is cut short or is no code point.
absl::StatusOr<Text> Unescaped(TextView literal);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_STRING_LITERAL_H_
