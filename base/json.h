#ifndef TRIVIUM_BASE_JSON_H_
#define TRIVIUM_BASE_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The only reader of JSON files. Its results are nested at most kMaxJsonDepth
// deep, so that recursive functions are safe, and their memory is bounded,
// whatever the text contains.
inline constexpr int kMaxJsonDepth = 64;

struct JsonLimits {
  size_t bytes;   // size of the text
  size_t memory;  // approximate size of the parsed values
};

// Limits for configurations and indices.
inline constexpr JsonLimits kConfigJson = {size_t{16} << 20, size_t{64} << 20};
// Limits for a tokenizer.json: the largest published ones have half a million
// merges or a million pieces.
inline constexpr JsonLimits kTokenizerJson = {size_t{128} << 20,
                                              size_t{256} << 20};

// Parses a JSON text. INVALID_ARGUMENT says what is wrong, without naming a
// file: "is not JSON", "is nested deeper than ...", "needs more than ...".
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text,
                                         const JsonLimits& limits);

// Tells whether a text has a size, a depth and a memory within what ParseJson
// allows, for readers that keep the order of members. The text may be wrong.
absl::Status CheckJson(std::string_view text, const JsonLimits& limits);

// Reads a JSON file whose outermost value is an object. Returns NOT_FOUND if
// there is no such file; INVALID_ARGUMENT names the file and what is wrong with
// it.
absl::StatusOr<nlohmann::json> ReadJsonFile(
    const std::string& path, const JsonLimits& limits = kConfigJson);
// Reads a JSON file whose outermost value is a list, with the same errors.
absl::StatusOr<nlohmann::json> ReadJsonList(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_BASE_JSON_H_
