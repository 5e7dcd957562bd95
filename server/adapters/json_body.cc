#include "server/adapters/json_body.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/status.h"

namespace trivium {
namespace {

constexpr size_t kLeastMemory = 64 << 10;

absl::Status Explain(const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(fmt::format(
      "the body {}; send a JSON object", std::string(status.message())));
}

JsonLimits LimitsFor(std::string_view body) {
  return {body.size(), kLeastMemory + kJsonMemoryOfAByte * body.size()};
}

template <typename Json>
std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

absl::Status CheckJsonBody(std::string_view body) {
  return Explain(ParseJson(body, LimitsFor(body)).status());
}

absl::StatusOr<nlohmann::json> ReadJsonBody(std::string_view body) {
  absl::StatusOr<nlohmann::json> value = ParseJson(body, LimitsFor(body));
  TRIVIUM_RETURN_IF_ERROR(Explain(value.status()));
  if (!value->is_object()) {
    return absl::InvalidArgumentError("the body is not a JSON object");
  }
  return value;
}

std::string ToJsonText(const nlohmann::json& value) { return Dump(value); }
std::string ToJsonText(const nlohmann::ordered_json& value) {
  return Dump(value);
}

}  // namespace trivium
