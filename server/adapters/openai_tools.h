#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_TOOLS_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_TOOLS_H_

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/adapters/json_fields.h"
#include "server/adapters/written_body.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The names that a request has for fields of tools, where their places in the
// chat differ: {"chat.tools[0]", "tools[2]"}.
using ToolNames = std::vector<std::pair<std::string, std::string>>;

// Reads `tools`, which are functions, `tool_choice` and `parallel_tool_calls`.
// The older `functions` and `function_call` are errors. Calls are held to their
// schemas whether `strict` is true or not, so the template never sees it.
//
// `written` is the fields' object.
void ReadOpenAiTools(WrittenBody* written, JsonFields* fields,
                     IgnoredMembers* ignored, v1::Chat* chat, ToolNames* names);

// Reads `mode` and `tools` of a tool_choice of type allowed_tools, and removes
// the chat's other tools: the model sees only those that it may call.
// `offered` are the names of the chat's tools; `read_name` reads the name of a
// function in the list.
void KeepAllowedTools(JsonFields* allowed, std::span<const std::string> offered,
                      const std::function<std::string(JsonFields*)>& read_name,
                      v1::Chat* chat, ToolNames* names);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_TOOLS_H_
