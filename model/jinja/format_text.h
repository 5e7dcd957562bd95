#ifndef TRIVIUM_MODEL_JINJA_FORMAT_TEXT_H_
#define TRIVIUM_MODEL_JINJA_FORMAT_TEXT_H_

#include "absl/status/statusor.h"
#include "model/jinja/arguments.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

// Python's text % values with %s, %r, %d and %%, and text.format(...) with {},
// {0} and {name}. INVALID_ARGUMENT names any other field.
absl::StatusOr<Value> PercentFormat(Heap& heap, const Value& text,
                                    const Value& values);
absl::StatusOr<Value> BraceFormat(Heap& heap, const Value& text,
                                  const Arguments& arguments);

// text.replace(part, by, most); the result's size is checked beforehand.
absl::StatusOr<Value> ReplaceText(Heap& heap, TextView text, TextView part,
                                  TextView by, int64_t most,
                                  bool markup = false);
// separator.join(items), each as str() prints it.
absl::StatusOr<Value> JoinText(Heap& heap, TextView separator,
                               const std::vector<Value>& items);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_FORMAT_TEXT_H_
