#ifndef TRIVIUM_MODEL_JINJA_JSON_TEXT_H_
#define TRIVIUM_MODEL_JINJA_JSON_TEXT_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/jinja/heap.h"
#include "model/jinja/value.h"

namespace trivium::jinja {

struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  // Indentation of each level, with one item on each line; unset: everything on
  // one line.
  std::optional<Text> indent;
  Text item_separator = U", ";
  Text key_separator = U": ";
};

// Python's json.dumps. INVALID_ARGUMENT for values that JSON does not have.
absl::StatusOr<Value> ToJson(Heap& heap, const Value& value,
                             const JsonStyle& style);

struct JsonSource {
  bool from_data = true;
  // True if the text is a list of messages. Their well-known roles ("user")
  // then count as the template's own words, because it builds special tokens of
  // them (<|user|>).
  bool messages = false;
};

// Python's json.loads. Objects keep their order; nesting is at most
// kMaxJsonDepth deep; whole numbers have 64 bits.
absl::StatusOr<Value> FromJson(Heap& heap, std::string_view text,
                               const JsonSource& source);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_JSON_TEXT_H_
