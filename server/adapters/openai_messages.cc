#include "server/adapters/openai_messages.h"

#include <fmt/format.h>

#include <string>

#include "server/adapters/json_body.h"
#include "server/adapters/openai_request.h"
#include "server/adapters/text_documents.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;

// Appends the text of a part of a message's content.
void ReadPart(JsonFields* part, std::string* text) {
  const std::string type = part->String("type").value_or("");
  if (type == "text" || type == "input_text") {
    part->Require("text");
    *text += part->String("text").value_or("");
  } else if (type == "refusal") {
    part->Require("refusal");
    *text += part->String("refusal").value_or("");
  } else if (type == "file") {
    part->Require("file");
    const json* const value = part->Value("file");
    if (value == nullptr) return;
    JsonFields file(*value, part->path() + "file.");
    file.Only("file_id", {}, kNoStoredFiles);
    file.Require("file_data");
    AppendDocument({file.String("filename").value_or(""),
                    ReadTextFile("file_data", &file)},
                   text);
    part->Keep(file.Done());
  } else {
    part->Fail("type",
               fmt::format("is '{}', and models here read texts only; it may "
                           "be text, or file with a text file",
                           Shorten(type)));
  }
}

// Reads a message's content: a text, or parts that are texts.
void ReadContent(const json& content, const std::string& field,
                 IgnoredMembers* ignored, JsonFields* fields,
                 v1::Chat::Message* message) {
  if (content.is_string()) {
    return message->set_content(content.get<std::string>());
  }
  if (!content.is_array()) {
    return fields->Fail(field, "must be a text or a list of parts");
  }
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    JsonFields part(content[i], fmt::format("{}[{}].", field, i));
    ReadPart(&part, &text);
    // A hint for the caches of others, and where a text is from.
    part.Ignore(kOpenAiShape, ignored, {"cache_control", "annotations"});
    fields->Keep(part.Done());
    if (!fields->ok()) return;
  }
  message->set_content(text);
}

// The call checks these, too, but under its own names.
void ReadFunction(const json& value, const std::string& path, JsonFields* call,
                  v1::Chat::ToolCall* out) {
  JsonFields function(value, path + ".");
  function.Require("name");
  out->set_name(function.String("name").value_or(""));
  if (out->name().empty()) function.Fail("name", "is empty; name the function");
  out->set_arguments(function.String("arguments").value_or(""));
  if (!out->arguments().empty() && !IsJsonObject(out->arguments())) {
    function.Fail("arguments", kNoArguments);
  }
  call->Keep(function.Done());
}

void ReadToolCalls(const json& calls, const std::string& field,
                   IgnoredMembers* ignored, JsonFields* fields,
                   v1::Chat::Message* message) {
  if (!calls.is_array()) return fields->Fail(field, "must be a list");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", field, i);
    JsonFields call(calls[i], path + ".");
    v1::Chat::ToolCall* const out = message->add_tool_calls();
    if (const auto id = call.String("id")) out->set_id(*id);
    call.Only("type", {"function"}, "must be function");
    call.Require("function");
    if (const json* const function = call.Value("function")) {
      ReadFunction(*function, path + ".function", &call, out);
    }
    // The call's place, from clients that joined the pieces of a stream.
    call.Ignore(kOpenAiShape, ignored, {"index"});
    fields->Keep(call.Done());
  }
}

// Newer clients call a system message "developer".
absl::Status ReadRole(const std::string& role, const std::string& field,
                      v1::Chat::Message* message) {
  for (const char* const known : {"system", "user", "assistant", "tool"}) {
    if (role == known) message->set_role(role);
  }
  if (role == "developer") message->set_role("system");
  if (!message->role().empty()) return absl::OkStatus();
  if (role == "function") {
    return InvalidField(field,
                        "is 'function', which is not supported; use tools, "
                        "whose answers have the role tool");
  }
  return InvalidField(
      field, fmt::format("is '{}'; it must be system, developer, user, "
                         "assistant or tool",
                         Shorten(role)));
}

// vLLM has called thoughts `reasoning_content` and `reasoning`, and sent both.
void ReadReasoning(JsonFields* in, v1::Chat::Message* message) {
  const auto thoughts = in->String("reasoning_content");
  const auto same = in->String("reasoning");
  if (thoughts && same && *thoughts != *same) {
    in->Fail("reasoning",
             "is not the same as reasoning_content; send one of them");
  }
  if (thoughts || same) {
    message->set_reasoning_content(thoughts ? *thoughts : *same);
  }
}

void ReadOneMessage(const json& value, size_t i, IgnoredMembers* ignored,
                    JsonFields* fields, v1::Chat::Message* message) {
  const std::string path = fmt::format("messages[{}]", i);
  JsonFields in(value, path + ".");
  in.Require("role");
  if (const auto role = in.String("role")) {
    in.Keep(ReadRole(*role, path + ".role", message));
  }
  if (const auto name = in.String("name")) message->set_name(*name);
  if (const auto id = in.String("tool_call_id")) message->set_tool_call_id(*id);
  ReadReasoning(&in, message);
  if (const json* const content = in.Value("content")) {
    ReadContent(*content, path + ".content", ignored, fields, message);
  }
  if (const json* const calls = in.Value("tool_calls")) {
    ReadToolCalls(*calls, path + ".tool_calls", ignored, fields, message);
  }
  if (in.Value("function_call") != nullptr) {
    in.Fail("function_call", "is not supported; use tools and tool_calls");
  }
  // A refusal that another server gave instead of an answer.
  const auto refusal = in.String("refusal");
  if (refusal && !message->has_content()) message->set_content(*refusal);
  // An answer without text, sent back: `"content": null`.
  if (message->role() == "assistant" && !message->has_content() &&
      message->tool_calls().empty() &&
      (value.contains("content") || message->has_reasoning_content())) {
    message->set_content("");
  }
  // Clients send these back with an answer; no template reads them.
  in.Ignore(kOpenAiShape, ignored,
            {"annotations", "id", "status", "timestamp", "audio"});
  fields->Keep(in.Done());
}

}  // namespace

void ReadOpenAiMessages(JsonFields* fields, IgnoredMembers* ignored,
                        v1::Chat* chat) {
  const json* const messages = fields->Value("messages");
  if (messages == nullptr) return fields->Require("messages");
  if (!messages->is_array() || messages->empty()) {
    return fields->Fail("messages", "must be a list of at least one message");
  }
  for (size_t i = 0; i < messages->size() && fields->ok(); ++i) {
    ReadOneMessage((*messages)[i], i, ignored, fields, chat->add_messages());
  }
}

}  // namespace trivium
