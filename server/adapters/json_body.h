#ifndef TRIVIUM_SERVER_ADAPTERS_JSON_BODY_H_
#define TRIVIUM_SERVER_ADAPTERS_JSON_BODY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// While a body is parsed it may take so much memory for each of its bytes: a
// list of ids has a number for every few of them, each a value of 32 bytes.
inline constexpr int64_t kJsonMemoryOfAByte = 16;

// INVALID_ARGUMENT where a body is no JSON, is nested too deeply, or would take
// far more memory than it has bytes.
absl::Status CheckJsonBody(std::string_view body);

// A body that is a JSON object.
absl::StatusOr<nlohmann::json> ReadJsonBody(std::string_view body);

// Bytes that are no UTF-8 are replaced.
std::string ToJsonText(const nlohmann::json& value);
std::string ToJsonText(const nlohmann::ordered_json& value);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_JSON_BODY_H_
