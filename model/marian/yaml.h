#ifndef TRIVIUM_MODEL_MARIAN_YAML_H_
#define TRIVIUM_MODEL_MARIAN_YAML_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The one reader of YAML from files, of what JSON can say as well: mappings
// whose keys are texts, lists, texts, numbers, true, false and null. Bounds are
// those of JSON: nested at most kMaxJsonDepth deep, a bounded part of the
// memory. Only the first document of a stream counts.
//
// INVALID_ARGUMENT says what is wrong and on which line, without the name of
// the file: "is not YAML", "has an alias", "has key 'a' twice".
absl::StatusOr<nlohmann::json> ParseYaml(std::string_view text,
                                         const JsonLimits& limits);

// A YAML file whose outermost value is a mapping. NOT_FOUND when there is no
// such file; INVALID_ARGUMENT names the file and what is wrong with it.
absl::StatusOr<nlohmann::json> ReadYamlFile(
    const std::string& path, const JsonLimits& limits = kConfigJson);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_MARIAN_YAML_H_
