#ifndef TRIVIUM_MODEL_JINJA_METHOD_NAMES_H_
#define TRIVIUM_MODEL_JINJA_METHOD_NAMES_H_

#include <string_view>

#include "model/jinja/value.h"

namespace trivium::jinja {

enum class MethodUse {
  kNone,     // the type has no such attribute
  kAllowed,  // it has, and may be asked for it
  kRefused,  // it has, and would be changed by it, which the sandbox forbids
};

// What Python's type of this kind has under the name.
MethodUse MethodOf(Kind kind, std::string_view name);

// Whether some type has a method of this name that can be called here, or that
// the sandbox refuses when it is called; templates that call others are
// refused.
bool IsKnownMethod(std::string_view name);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_METHOD_NAMES_H_
