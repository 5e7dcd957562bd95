#ifndef TRIVIUM_MODEL_WEIGHTS_JSON_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_JSON_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A JSON file whose outermost value is an object. NOT_FOUND when there is no
// such file; INVALID_ARGUMENT names the file and what is wrong with it.
absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path);
// The same for a list.
absl::StatusOr<nlohmann::json> ReadJsonList(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_JSON_FILE_H_
