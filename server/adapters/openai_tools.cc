#include "server/adapters/openai_tools.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/adapters/chat_request.h"
#include "server/adapters/openai_request.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Returns the name of the tool.
std::string CheckTool(const json& value, size_t i, IgnoredMembers* ignored,
                      JsonFields* fields) {
  std::string name;
  const std::string path = fmt::format("tools[{}]", i);
  JsonFields tool(value, path + ".");
  tool.Require("type");
  const std::string type = tool.String("type").value_or("function");
  if (type != "function") {
    tool.Fail("type",
              fmt::format("is '{}', which is not supported; the server runs no "
                          "tools of its own, so a tool must be a function",
                          Shorten(type)));
  }
  tool.Require("function");
  if (const json* const in = tool.Value("function")) {
    JsonFields function(*in, path + ".function.");
    function.Require("name");
    name = function.String("name").value_or("");
    if (name.empty()) function.Fail("name", "is empty; name the function");
    function.String("description");
    const json* const parameters = function.Value("parameters");
    if (parameters != nullptr && !parameters->is_object()) {
      function.Fail("parameters", "must be a JSON schema, an object");
    }
    function.Bool("strict");
    tool.Keep(function.Done());
  }
  tool.Ignore(kOpenAiShape, ignored, {"cache_control"});
  fields->Keep(tool.Done());
  return name;
}

// Removes a member, and those that are null, which are like none.
void Remove(const char* name, ordered_json* object) {
  for (auto member = object->begin(); member != object->end();) {
    if (member.key() == name || member->is_null()) {
      member = object->erase(member);
    } else {
      ++member;
    }
  }
}

// Adds the tools with the members that templates know, in their order.
void AddTools(ordered_json tools, v1::Chat* chat) {
  for (ordered_json& tool : tools) {
    Remove("strict", &tool["function"]);
    AddFunction(tool["function"], chat);
  }
}

void ReadChoiceName(const std::string& name, JsonFields* fields,
                    v1::Chat* chat) {
  if (name == "none") {
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_NONE);
  } else if (name == "auto") {
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_AUTO);
  } else if (name == "required") {
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
  } else {
    fields->Fail("tool_choice",
                 fmt::format("is '{}'; it must be none, auto, required or "
                             "an object that names a function",
                             Shorten(name)));
  }
}

// Returns the name of a function in {"type": "function", "function": {"name":
// }}.
std::string ReadFunctionName(JsonFields* tool) {
  tool->Require("type");
  const std::string type = tool->String("type").value_or("function");
  if (type != "function") {
    tool->Fail("type", fmt::format("is '{}', which is not supported; it must "
                                   "be function",
                                   Shorten(type)));
  }
  tool->Require("function");
  const json* const value = tool->Value("function");
  if (value == nullptr) return "";
  JsonFields function(*value, tool->path() + "function.");
  function.Require("name");
  const std::string name = function.String("name").value_or("");
  tool->Keep(function.Done());
  return name;
}

// Reads {"type": "function", "function": {"name": }}.
void ReadChosenFunction(const json& value, JsonFields* fields, v1::Chat* chat) {
  JsonFields choice(value, "tool_choice.");
  const std::string name = ReadFunctionName(&choice);
  fields->Keep(choice.Done());
  if (!fields->ok()) return;
  chat->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
  chat->set_tool_name(name);
}

void ReadChoice(const json& choice, std::span<const std::string> offered,
                JsonFields* fields, v1::Chat* chat, ToolNames* names) {
  if (choice.is_string()) {
    return ReadChoiceName(choice.get<std::string>(), fields, chat);
  }
  if (!choice.is_object() || choice.value("type", json()) != "allowed_tools") {
    return ReadChosenFunction(choice, fields, chat);
  }
  JsonFields in(choice, "tool_choice.");
  in.Value("type");
  in.Require("allowed_tools");
  if (const json* const allowed = in.Value("allowed_tools")) {
    JsonFields members(*allowed, "tool_choice.allowed_tools.");
    KeepAllowedTools(&members, offered, ReadFunctionName, chat, names);
    in.Keep(members.Done());
  }
  fields->Keep(in.Done());
}

}  // namespace

void KeepAllowedTools(JsonFields* allowed, std::span<const std::string> offered,
                      const std::function<std::string(JsonFields*)>& read_name,
                      v1::Chat* chat, ToolNames* names) {
  allowed->Require("mode");
  allowed->Only("mode", {"auto", "required"}, "must be auto or required");
  if (allowed->String("mode") == "required") {
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
  }
  allowed->Require("tools");
  const json* const tools = allowed->Value("tools");
  if (tools == nullptr) return;
  if (!tools->is_array() || tools->empty()) {
    return allowed->Fail("tools", "must be a list of at least one function");
  }
  std::map<std::string_view, int> places;
  for (size_t i = 0; i < offered.size(); ++i) {
    places.emplace(offered[i], static_cast<int>(i));
  }
  std::set<int> kept;
  for (size_t i = 0; i < tools->size() && allowed->ok(); ++i) {
    const std::string path = fmt::format("tools[{}]", i);
    JsonFields tool((*tools)[i], allowed->path() + path + ".");
    const std::string name = read_name(&tool);
    allowed->Keep(tool.Done());
    if (!allowed->ok()) return;
    const auto found = places.find(name);
    if (found == places.end()) {
      return allowed->Fail(path, fmt::format("is '{}', which none of the tools "
                                             "is called",
                                             Shorten(name)));
    }
    kept.insert(found->second);
  }
  google::protobuf::RepeatedPtrField<std::string> all;
  all.Swap(chat->mutable_tools());
  for (const int i : kept) {
    names->emplace_back(fmt::format("chat.tools[{}]", chat->tools_size()),
                        fmt::format("tools[{}]", i));
    chat->add_tools(std::move(*all.Mutable(i)));
  }
}

void ReadOpenAiTools(WrittenBody* written, JsonFields* fields,
                     IgnoredMembers* ignored, v1::Chat* chat,
                     ToolNames* names) {
  std::vector<std::string> offered;
  if (const json* const tools = fields->Value("tools")) {
    if (!tools->is_array()) return fields->Fail("tools", "must be a list");
    for (size_t i = 0; i < tools->size() && fields->ok(); ++i) {
      offered.push_back(CheckTool((*tools)[i], i, ignored, fields));
    }
    if (fields->ok() && !tools->empty()) AddTools(written->At("/tools"), chat);
  }
  if (const json* const choice = fields->Value("tool_choice")) {
    ReadChoice(*choice, offered, fields, chat, names);
  }
  const auto parallel = fields->Bool("parallel_tool_calls");
  if (chat->tools().empty()) {
    // Without tools there are no calls anyway.
    if (chat->tool_choice() == v1::Chat::TOOL_CHOICE_REQUIRED) {
      fields->Fail("tool_choice", "asks for a call, and there are no tools");
    }
    chat->clear_tool_choice();
  } else if (!chat->tool_name().empty()) {
    // OpenAI: "call exactly one specific function".
    chat->set_parallel_tool_calls(false);
  } else if (parallel) {
    chat->set_parallel_tool_calls(*parallel);
  }
  if (fields->Value("functions") != nullptr) {
    fields->Fail("functions", "is not supported; use tools");
  }
  fields->Only("function_call", {"none"},
               "is not supported; use tools and tool_choice");
}

}  // namespace trivium
