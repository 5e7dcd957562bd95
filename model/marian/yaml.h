#ifndef TRIVIUM_MODEL_MARIAN_YAML_H_
#define TRIVIUM_MODEL_MARIAN_YAML_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The only reader of YAML files, for values that JSON can express: mappings
// whose keys are texts, lists, texts, numbers, true, false and null. The limits
// are those of JSON: nesting of at most kMaxJsonDepth, and bounded memory. Only
// the first document of a stream counts.
//
// INVALID_ARGUMENT says what is wrong and on which line, without the file's
// name: "is not YAML", "has an unsupported alias", "has key 'a' twice".
absl::StatusOr<nlohmann::json> ParseYaml(std::string_view text,
                                         const JsonLimits& limits);

// Reads a YAML file whose outermost value is a mapping. NOT_FOUND if the file
// does not exist; INVALID_ARGUMENT names the file and what is wrong with it.
absl::StatusOr<nlohmann::json> ReadYamlFile(
    const std::string& path, const JsonLimits& limits = kConfigJson);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MARIAN_YAML_H_
