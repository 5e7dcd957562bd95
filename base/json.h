#ifndef TRIVIUM_BASE_JSON_H_
#define TRIVIUM_BASE_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The one reader of JSON from files. What it returns is nested at most
// kMaxJsonDepth deep, so that functions over it may recurse, and takes a
// bounded part of the memory, whatever the text says.
inline constexpr int kMaxJsonDepth = 64;

struct JsonLimits {
  size_t bytes;   // of the text
  size_t memory;  // of the values made of it, about
};

// Configurations and indices.
inline constexpr JsonLimits kConfigJson = {size_t{16} << 20, size_t{64} << 20};
// A tokenizer.json: the largest published ones have half a million merges, or a
// million pieces.
inline constexpr JsonLimits kTokenizerJson = {size_t{128} << 20,
                                              size_t{256} << 20};

// INVALID_ARGUMENT says what is wrong, without the name of the file: "is not
// JSON", "is nested deeper than ...", "needs more than ...".
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text,
                                         const JsonLimits& limits);

// A JSON file whose outermost value is an object. NOT_FOUND when there is no
// such file; INVALID_ARGUMENT names the file and what is wrong with it.
absl::StatusOr<nlohmann::json> ReadJsonFile(
    const std::string& path, const JsonLimits& limits = kConfigJson);
// The same for a list.
absl::StatusOr<nlohmann::json> ReadJsonList(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_BASE_JSON_H_
