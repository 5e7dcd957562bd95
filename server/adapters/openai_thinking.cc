#include "server/adapters/openai_thinking.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string_view>

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr char kEffort[] = "reasoning_effort";
constexpr std::array<std::string_view, 6> kEfforts = {
    "none", "minimal", "low", "medium", "high", "xhigh"};

}  // namespace

OpenAiThinking ReadOpenAiThinking(JsonFields* fields) {
  OpenAiThinking thinking;
  thinking.effort = fields->String(kEffort);
  if (thinking.effort && std::find(kEfforts.begin(), kEfforts.end(),
                                   *thinking.effort) == kEfforts.end()) {
    fields->Fail(kEffort, fmt::format("is '{}'; it must be one of {}",
                                      Shorten(*thinking.effort),
                                      fmt::join(kEfforts, ", ")));
  }
  thinking.enabled_name = fields->NameAmong({"enable_thinking", "thinking"});
  thinking.enabled = fields->Bool("enable_thinking");
  if (const nlohmann::json* const value = fields->Value("thinking")) {
    JsonFields in(*value, "thinking.");
    in.Require("type");
    in.Only("type", {"enabled", "disabled"}, "must be enabled or disabled");
    thinking.enabled = in.String("type") == "enabled";
    fields->Keep(in.Done());
  }
  thinking.budget_name =
      fields->NameAmong({"thinking_token_budget", "thinking_budget_tokens"});
  if (const auto budget = fields->Integer(thinking.budget_name, 0, INT_MAX)) {
    thinking.budget = static_cast<uint32_t>(*budget);
  }
  return thinking;
}

absl::Status SetOpenAiThinking(const OpenAiThinking& thinking,
                               const Model& model, v1::Chat* chat) {
  if (thinking.budget) chat->set_max_thinking_tokens(*thinking.budget);
  TRIVIUM_RETURN_IF_ERROR(SetThinking({.on = thinking.enabled},
                                      thinking.enabled_name, model, chat));
  return SetThinking({.effort = thinking.effort}, kEffort, model, chat);
}

}  // namespace trivium
