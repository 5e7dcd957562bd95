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
constexpr char kEnable[] = "enable_thinking";
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
  thinking.enabled = fields->Bool(kEnable);
  // DeepSeek's and GLM's form of the same.
  if (const nlohmann::json* const value = fields->Value("thinking")) {
    JsonFields in(*value, "thinking.");
    in.Require("type");
    in.Only("type", {"enabled", "disabled"}, "must be enabled or disabled");
    if (!thinking.enabled) thinking.enabled = in.String("type") == "enabled";
    fields->Keep(in.Done());
  }
  for (const char* const name :
       {"thinking_token_budget", "thinking_budget_tokens"}) {
    const auto budget = fields->Integer(name, 0, INT_MAX);
    if (!budget) continue;
    if (thinking.budget) {
      fields->Fail(name, fmt::format("is there beside {}; send one of them",
                                     thinking.budget_name));
    }
    thinking.budget_name = name;
    thinking.budget = static_cast<uint32_t>(*budget);
  }
  return thinking;
}

absl::Status SetOpenAiThinking(const OpenAiThinking& thinking,
                               const Model& model, v1::Chat* chat) {
  if (thinking.budget) chat->set_max_thinking_tokens(*thinking.budget);
  TRIVIUM_RETURN_IF_ERROR(
      SetThinking({.on = thinking.enabled}, kEnable, model, chat));
  return SetThinking({.effort = thinking.effort}, kEffort, model, chat);
}

}  // namespace trivium
