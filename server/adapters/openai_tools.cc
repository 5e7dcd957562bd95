#include "server/adapters/openai_tools.h"

#include <fmt/format.h>

#include <string>

#include "nlohmann/json.hpp"
#include "server/adapters/chat_request.h"
#include "server/adapters/openai_request.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

void CheckTool(const json& value, size_t i, IgnoredMembers* ignored,
               JsonFields* fields) {
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
    if (function.String("name") == "") {
      function.Fail("name", "is empty; name the function");
    }
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

// Reads {"type": "function", "function": {"name": }}.
void ReadChosenFunction(const json& value, JsonFields* fields, v1::Chat* chat) {
  JsonFields choice(value, "tool_choice.");
  choice.Require("type");
  const std::string type = choice.String("type").value_or("function");
  if (type != "function") {
    choice.Fail("type", fmt::format("is '{}', which is not supported; it must "
                                    "be function",
                                    Shorten(type)));
  }
  choice.Require("function");
  if (const json* const in = choice.Value("function")) {
    JsonFields function(*in, "tool_choice.function.");
    function.Require("name");
    chat->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
    chat->set_tool_name(function.String("name").value_or(""));
    choice.Keep(function.Done());
  }
  fields->Keep(choice.Done());
}

void ReadChoice(JsonFields* fields, v1::Chat* chat) {
  const json* const choice = fields->Value("tool_choice");
  if (choice == nullptr) return;
  if (choice->is_string()) {
    ReadChoiceName(choice->get<std::string>(), fields, chat);
  } else {
    ReadChosenFunction(*choice, fields, chat);
  }
}

}  // namespace

void ReadOpenAiTools(WrittenBody* written, JsonFields* fields,
                     IgnoredMembers* ignored, v1::Chat* chat) {
  if (const json* const tools = fields->Value("tools")) {
    if (!tools->is_array()) return fields->Fail("tools", "must be a list");
    for (size_t i = 0; i < tools->size() && fields->ok(); ++i) {
      CheckTool((*tools)[i], i, ignored, fields);
    }
    if (fields->ok() && !tools->empty()) AddTools(written->At("/tools"), chat);
  }
  ReadChoice(fields, chat);
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
