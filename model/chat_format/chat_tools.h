#ifndef TRIVIUM_MODEL_CHAT_FORMAT_CHAT_TOOLS_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_CHAT_TOOLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A function that a model may call.
struct ChatTool {
  std::string name;
  nlohmann::ordered_json parameters;  // its JSON schema; an object
};

// Reads OpenAI's list of tools: [{"type": "function", "function": {"name": ,
// "parameters": }}]. A function without parameters takes an object without
// members. INVALID_ARGUMENT names tools[i] and what is wrong with it.
absl::StatusOr<std::vector<ChatTool>> ParseChatTools(std::string_view json);

const ChatTool* FindTool(const std::vector<ChatTool>& tools,
                         std::string_view name);

// The JSON that a value becomes which a model wrote as bare text.
enum class BareValue {
  kString,        // always a string
  kJsonOrString,  // JSON if it is JSON, else a string
  kNullOrString,  // null, or a string
};
BareValue BareValueOf(const ChatTool& tool, std::string_view parameter);
// Appends the JSON value. Lists, dicts, True, False and None as Python writes
// them, which some templates do, become JSON's.
void AppendBareValue(std::string_view text, BareValue kind, std::string* out);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_CHAT_TOOLS_H_
