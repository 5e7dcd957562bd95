#ifndef TRIVIUM_SERVER_ADAPTERS_CHAT_REQUEST_H_
#define TRIVIUM_SERVER_ADAPTERS_CHAT_REQUEST_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/chat_template.h"
#include "nlohmann/json.hpp"
#include "server/calls/allowed_models.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The parts of a chat's request that all shapes have: its model, its tools, and
// how much the model thinks.

// Finds the model of a request. One that names none goes to the first that
// takes chats, which is set in the request.
absl::StatusOr<ModelHandle> FindChatModel(const AllowedModels& models,
                                          v1::GenerateRequest* request);

// The words of a shape for a chat whose model takes none.
struct ChatShape {
  const char* field;   // has the conversation: "messages"
  const char* prompt;  // what to do with one text: "send it to /translate"
  const char* models;  // the path that lists the models: "/v1/models"
};
// INVALID_ARGUMENT, in the shape's words, if the model is no decoder.
absl::Status CheckTakesChats(const ServedModel& model, const ChatShape& shape);

// Adds a tool of the client: {"name": , "description": , "parameters": }.
void AddFunction(const nlohmann::ordered_json& function, v1::Chat* chat);

// True if a chat template has a variable that says how much to think.
bool TellsThinking(const ChatTemplate& chat_template);

// The thinking that a request asks for.
struct ChatThinking {
  std::optional<bool> on = std::nullopt;
  // "low", "medium"...; "none" and "minimal" switch thoughts off if the
  // template has a switch.
  std::optional<std::string> effort = std::nullopt;
  // False: a template without a variable for it is no error.
  bool required = true;
};

// Sets the variables of the chat's template that say so: the one that switches
// thoughts on and off, and `reasoning_effort`, unless the switch says it all.
// INVALID_ARGUMENT names the request's member `field` if the template has no
// such variable, or if the chat's variables have another value already.
absl::Status SetThinking(const ChatThinking& thinking, const char* field,
                         const Model& model, v1::Chat* chat);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_CHAT_REQUEST_H_
