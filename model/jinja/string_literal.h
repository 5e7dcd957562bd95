#ifndef TRIVIUM_MODEL_JINJA_STRING_LITERAL_H_
#define TRIVIUM_MODEL_JINJA_STRING_LITERAL_H_

#include "absl/status/statusor.h"
#include "model/jinja/text.h"

namespace trivium::jinja {

// What stands between the quotes of a literal, with Python's escapes resolved
// (\n, \x41, \u00e9, ...); an unknown one stays as it is. INVALID_ARGUMENT: one
// that is cut short, or no code point.
absl::StatusOr<Text> Unescaped(TextView literal);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_STRING_LITERAL_H_
