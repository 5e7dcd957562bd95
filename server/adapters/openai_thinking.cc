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

// Sets a variable as the request's member `field` says. It may have that value
// already.
absl::Status SetVariable(const char* name, const google::protobuf::Value& value,
                         const char* field, v1::Chat* chat) {
  const auto [place, added] =
      chat->mutable_variables()->mutable_fields()->insert({name, value});
  if (added || place->second.SerializeAsString() == value.SerializeAsString()) {
    return absl::OkStatus();
  }
  return InvalidField(
      field, fmt::format("contradicts {} of chat_template_kwargs or of the "
                         "request; send one of them",
                         name));
}

absl::Status SetVariable(const char* name, bool on, const char* field,
                         v1::Chat* chat) {
  google::protobuf::Value value;
  value.set_bool_value(on);
  return SetVariable(name, value, field, chat);
}

absl::Status SetEffort(const std::string& effort,
                       const ChatTemplate& chat_template, v1::Chat* chat) {
  const bool off = effort == "none" || effort == "minimal";
  const char* switched = nullptr;
  for (const char* const name : {kEnable, "thinking"}) {
    if (switched == nullptr && chat_template.MayRead(name)) switched = name;
  }
  const bool graded = chat_template.MayRead(kEffort);
  if (switched == nullptr && !graded) {
    return InvalidField(kEffort,
                        "the model's chat template has no place for it; leave "
                        "it out");
  }
  if (switched != nullptr) {
    TRIVIUM_RETURN_IF_ERROR(SetVariable(switched, !off, kEffort, chat));
  }
  if (graded && (switched == nullptr || !off)) {
    google::protobuf::Value value;
    value.set_string_value(effort);
    return SetVariable(kEffort, value, kEffort, chat);
  }
  return absl::OkStatus();
}

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
                               const ChatTemplate& chat_template,
                               v1::Chat* chat) {
  if (thinking.enabled) {
    if (!chat_template.MayRead(kEnable)) {
      return InvalidField(kEnable,
                          "the model's chat template has no place for it; "
                          "leave it out");
    }
    TRIVIUM_RETURN_IF_ERROR(
        SetVariable(kEnable, *thinking.enabled, kEnable, chat));
  }
  if (!thinking.effort) return absl::OkStatus();
  return SetEffort(*thinking.effort, chat_template, chat);
}

}  // namespace trivium
