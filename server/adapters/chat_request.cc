#include "server/adapters/chat_request.h"

#include <fmt/format.h>

#include "base/status.h"
#include "server/adapters/json_body.h"
#include "server/calls/convert/model_calls.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// The variables that switch thoughts in published templates. The first that a
// template reads counts.
constexpr const char* kThinkingSwitches[] = {"enable_thinking", "thinking"};
constexpr char kThinkingEffort[] = "reasoning_effort";

// Null if the template has none.
const char* SwitchOf(const ChatTemplate& chat_template) {
  for (const char* const name : kThinkingSwitches) {
    if (chat_template.MayRead(name)) return name;
  }
  return nullptr;
}

// False if a template's text says nothing of thoughts. Those of models that
// always think have the marks around them.
bool MayTellThoughts(const ChatTemplate& chat_template) {
  for (const char* const word : {"think", "reason", "analysis"}) {
    if (chat_template.source().find(word) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// The template that a chat's prompt is made by; null if there is none, which
// the call tells.
const ChatTemplate* TemplateOf(const Model& model, const v1::Chat& chat) {
  const bool shows_tools =
      !chat.tools().empty() && chat.tool_choice() != v1::Chat::TOOL_CHOICE_NONE;
  const auto found = model.chat_templates().Find(/*name=*/"", shows_tools);
  return found.ok() ? *found : nullptr;
}

// The chat's variables may have the value already, but no other.
absl::Status SetVariable(const char* name, const google::protobuf::Value& value,
                         const char* field, v1::Chat* chat) {
  const auto [place, added] =
      chat->mutable_variables()->mutable_fields()->insert({name, value});
  if (added || place->second.SerializeAsString() == value.SerializeAsString()) {
    return absl::OkStatus();
  }
  return InvalidField(field,
                      fmt::format("contradicts the request's other value of "
                                  "the template's variable {}; send one of "
                                  "them",
                                  name));
}

}  // namespace

absl::StatusOr<ModelHandle> FindChatModel(const AllowedModels& models,
                                          v1::GenerateRequest* request) {
  if (!models.Names(request->model())) {
    for (const ModelHandle& model : models.List()) {
      if (!TakesChats(*model->model)) continue;
      request->set_model(model->name);
      break;
    }
  }
  return models.FindFor(Rpc::kGenerate, request->model());
}

absl::Status CheckTakesChats(const ServedModel& model, const ChatShape& shape) {
  const Design design = model.model->info().design;
  if (design == Design::kDecoder) return absl::OkStatus();
  return InvalidField(
      shape.field,
      design == Design::kEncoderDecoder
          ? fmt::format("the model '{}' takes no chats, but one text; {}",
                        model.name, shape.prompt)
          : fmt::format("the model '{}' takes no chats, as it has no decoder; "
                        "{} lists the others",
                        model.name, shape.models));
}

void AddFunction(const nlohmann::ordered_json& function, v1::Chat* chat) {
  chat->add_tools(ToJsonText(
      nlohmann::ordered_json{{"type", "function"}, {"function", function}}));
}

bool TellsThinking(const ChatTemplate& chat_template) {
  return SwitchOf(chat_template) != nullptr ||
         chat_template.MayRead(kThinkingEffort);
}

absl::Status SetThinking(const ChatThinking& thinking, const char* field,
                         const Model& model, v1::Chat* chat) {
  if (!thinking.on && !thinking.effort) return absl::OkStatus();
  const ChatTemplate* const chat_template = TemplateOf(model, *chat);
  if (chat_template == nullptr) return absl::OkStatus();
  const bool off =
      thinking.on ? !*thinking.on
                  : thinking.effort == "none" || thinking.effort == "minimal";
  const char* const switch_name = SwitchOf(*chat_template);
  const bool graded = chat_template->MayRead(kThinkingEffort);
  google::protobuf::Value value;
  if (switch_name != nullptr) {
    value.set_bool_value(!off);
    TRIVIUM_RETURN_IF_ERROR(SetVariable(switch_name, value, field, chat));
  }
  if (graded && thinking.effort && (switch_name == nullptr || !off)) {
    value.set_string_value(*thinking.effort);
    TRIVIUM_RETURN_IF_ERROR(SetVariable(kThinkingEffort, value, field, chat));
  }
  // With efforts and without a switch, the model always thinks.
  const bool told =
      switch_name != nullptr || (graded && (thinking.effort || !off));
  if (told || !thinking.required) return absl::OkStatus();
  // A model that has no thoughts has none to switch off.
  if (off && !MayTellThoughts(*chat_template)) return absl::OkStatus();
  return InvalidField(field,
                      "the model's chat template has no place for it; leave it "
                      "out");
}

}  // namespace trivium
