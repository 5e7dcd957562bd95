#ifndef TRIVIUM_SERVER_ADAPTERS_JSON_BODY_H_
#define TRIVIUM_SERVER_ADAPTERS_JSON_BODY_H_

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The memory that parsing may take for each byte of a body. A list of ids has a
// number in every few bytes, each a value of 32 bytes.
inline constexpr int64_t kJsonMemoryOfAByte = 16;

// INVALID_ARGUMENT if a body is not JSON, is nested too deeply, or would take
// far more memory than it has bytes.
absl::Status CheckJsonBody(std::string_view body);

// Parses a body that is a JSON object; the same errors.
absl::StatusOr<nlohmann::json> ReadJsonBody(std::string_view body);

// True if a body seems to be a JSON object with this member, which is not null;
// "a.b" is the member b of its member a. The body need not be valid JSON;
// nothing is allocated. If `filled`, members that are "" or [] do not count.
bool HasMember(std::string_view body, std::string_view name,
               bool filled = false);

// True if a text is a JSON object.
bool IsJsonObject(std::string_view text);

// Writes JSON. Bytes that are not UTF-8 are replaced.
std::string ToJsonText(const nlohmann::json& value);
std::string ToJsonText(const nlohmann::ordered_json& value);
// Appends numbers as a list. Values of json would be most of the work.
template <typename Numbers>
void AddJsonList(const Numbers& numbers, std::string* text) {
  fmt::format_to(std::back_inserter(*text), "[{}]", fmt::join(numbers, ","));
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_JSON_BODY_H_
