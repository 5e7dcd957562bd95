#ifndef TRIVIUM_MODEL_JINJA_METHOD_NAMES_H_
#define TRIVIUM_MODEL_JINJA_METHOD_NAMES_H_

#include <string_view>

#include "model/jinja/value.h"

namespace trivium::jinja {

enum class MethodUse {
  kNone,     // the type has no such attribute
  kAllowed,  // the type has it, and templates may use it
  kRefused,  // the type has it, but it would change the value, which the
             // sandbox forbids
};

// Says what Python's type of this kind has under the name.
MethodUse MethodOf(Kind kind, std::string_view name);

// True if some type has a method of this name that can be called here, or that
// the sandbox refuses when it is called. A template that calls any other is
// refused.
bool IsKnownMethod(std::string_view name);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_METHOD_NAMES_H_
