#include "server/adapters/openai_thinking.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  return thinking;
}

absl::Status SetOpenAiThinking(const OpenAiThinking& thinking,
                               const Model& model, v1::Chat* chat) {
  TRIVIUM_RETURN_IF_ERROR(
      SetThinking({.on = thinking.enabled}, kEnable, model, chat));
  return SetThinking({.effort = thinking.effort}, kEffort, model, chat);
}

}  // namespace trivium
