#ifndef TRIVIUM_TESTS_MODEL_JINJA_RENDERING_H_
#define TRIVIUM_TESTS_MODEL_JINJA_RENDERING_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "model/jinja/json_text.h"
#include "model/jinja/template.h"

namespace trivium::jinja {

// Renders the template with the members of a JSON object as its variables, on 4
// July 2025 at 11:00 UTC.
inline absl::StatusOr<Text> RenderWith(std::string_view source,
                                       std::string_view json,
                                       const Limits& limits = {}) {
  TRIVIUM_ASSIGN_OR_RETURN(const Template parsed, Template::Parse(source));
  Heap heap(limits);
  heap.AddInput(json.size());
  TRIVIUM_ASSIGN_OR_RETURN(const Value data, FromJson(heap, json, {}));
  std::vector<std::pair<std::string, Value>> variables;
  for (const auto& [name, value] : data.As<DictObject>().entries) {
    variables.emplace_back(Utf8Of(name.text()), value);
  }
  return parsed.Render(
      heap, variables,
      {absl::FromUnixSeconds(1751626800), absl::UTCTimeZone()});
}

}  // namespace trivium::jinja

#endif  // TRIVIUM_TESTS_MODEL_JINJA_RENDERING_H_
