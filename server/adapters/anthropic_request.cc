// Messages of Anthropic's shape have blocks; those of a chat have a role, a
// text, thoughts and calls. A user's message with results of tools becomes a
// message of the tool for each result, and one of the user for the text beside
// them.
#include "server/adapters/anthropic_request.h"

#include <fmt/format.h>

#include <climits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/adapters/anthropic_blocks.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/json_body.h"
#include "server/adapters/written_body.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class AnthropicPromptReader {
 public:
  AnthropicPromptReader(std::string_view body, JsonFields* fields,
                        IgnoredMembers* ignored, v1::Chat* chat)
      : body_(body), fields_(fields), ignored_(ignored), chat_(chat) {}

  void ReadSystem() {
    const json* const system = fields_->Value("system");
    if (system == nullptr) return;
    const std::string text =
        ReadAnthropicTexts(*system, "system", ignored_, fields_);
    if (!text.empty()) AddText("system", text);
  }

  void ReadMessages() {
    const json* const messages = fields_->Value("messages");
    if (messages == nullptr) return fields_->Require("messages");
    if (!messages->is_array() || messages->empty()) {
      return fields_->Fail("messages",
                           "must be a list of at least one message");
    }
    for (size_t i = 0; i < messages->size() && fields_->ok(); ++i) {
      ReadOneMessage((*messages)[i], i);
    }
    if (fields_->ok() && messages->back()["role"] == "assistant") {
      ContinueLast(fmt::format("messages[{}].content", messages->size() - 1));
    }
  }

  void ReadTools() {
    const json* const tools = fields_->Value("tools");
    if (tools == nullptr) return;
    if (!tools->is_array()) return fields_->Fail("tools", "must be a list");
    for (size_t i = 0; i < tools->size() && fields_->ok(); ++i) {
      ReadTool((*tools)[i], i);
    }
  }

  // After ReadTools.
  void ReadToolChoice() {
    const json* const value = fields_->Value("tool_choice");
    if (value == nullptr) return;
    JsonFields choice(*value, "tool_choice.");
    choice.Require("type");
    const std::string type = choice.String("type").value_or("");
    const auto name = choice.String("name");
    const bool parallel =
        !choice.Bool("disable_parallel_tool_use").value_or(false);
    v1::Chat::ToolChoice wanted = v1::Chat::TOOL_CHOICE_AUTO;
    if (type == "none") {
      wanted = v1::Chat::TOOL_CHOICE_NONE;
    } else if (type == "any" || type == "tool") {
      wanted = v1::Chat::TOOL_CHOICE_REQUIRED;
    } else if (type != "auto") {
      choice.Fail("type", fmt::format("is '{}'; it must be auto, any, tool or "
                                      "none",
                                      Shorten(type)));
    }
    if (type == "tool") {
      choice.Require("name");
    } else if (name) {
      choice.Fail("name", "is for the type tool; leave it out");
    }
    fields_->Keep(choice.Done());
    if (chat_->tools().empty()) {
      if (wanted == v1::Chat::TOOL_CHOICE_REQUIRED) {
        fields_->Fail("tool_choice",
                      "asks for a call and there are no tools; "
                      "send tools, too");
      }
      return;
    }
    chat_->set_tool_choice(wanted);
    if (name) chat_->set_tool_name(*name);
    if (!parallel) chat_->set_parallel_tool_calls(false);
  }

  // Returns the effort that thoughts are worth, if the request tells it.
  std::optional<std::string> ReadOutputConfig(v1::DecodingOptions* decoding) {
    // The form's older name.
    ReadFormat("output_format", "output_format", "", fields_, decoding);
    const json* const value = fields_->Value("output_config");
    if (value == nullptr) return std::nullopt;
    JsonFields config(*value, "output_config.");
    config.Only("effort", {"low", "medium", "high", "xhigh", "max"},
                "must be low, medium, high, xhigh or max");
    const auto effort = config.String("effort");
    ReadFormat("format", "output_config.format", "/output_config", &config,
               decoding);
    fields_->Keep(config.Done());
    return effort;
  }

 private:
  v1::Chat::Message* Add(const char* role) {
    v1::Chat::Message* const message = chat_->add_messages();
    message->set_role(role);
    return message;
  }
  void AddText(const char* role, const std::string& text) {
    Add(role)->set_content(text);
  }

  // Reads the form of the answer, the member `name` of `in`. `path` is its
  // whole name, `pointer` the place of `in` for WrittenBody.
  void ReadFormat(const char* name, const std::string& path,
                  const std::string& pointer, JsonFields* in,
                  v1::DecodingOptions* decoding) {
    const json* const value = in->Value(name);
    if (value == nullptr) return;
    if (decoding->has_constraint()) {
      in->Fail(name, "is there beside output_format; send one of them");
    }
    JsonFields format(*value, path + ".");
    format.Require("type");
    format.Only("type", {"json_schema"}, "must be json_schema");
    format.Require("schema");
    const json* const schema = format.Value("schema");
    if (schema != nullptr && !schema->is_object()) {
      format.Fail("schema", "must be an object");
    }
    in->Keep(format.Done());
    if (!in->ok()) return;
    decoding->mutable_constraint()->set_json_schema(
        ToJsonText(body_.At(fmt::format("{}/{}/schema", pointer, name))));
  }

  void ReadOneMessage(const json& value, size_t i) {
    const std::string path = fmt::format("messages[{}]", i);
    JsonFields in(value, path + ".");
    in.Require("role");
    in.Require("content");
    const std::string role = in.String("role").value_or("");
    if (role != "user" && role != "assistant" && role != "system") {
      in.Fail("role", fmt::format("is '{}'; it must be user, assistant or "
                                  "system",
                                  Shorten(role)));
    }
    const json* const content = in.Value("content");
    if (in.ok()) {
      const std::string field = path + ".content";
      const std::string pointer = fmt::format("/messages/{}/content", i);
      if (content->is_string() || role == "system") {
        AddText(role.c_str(),
                ReadAnthropicTexts(*content, field, ignored_, &in));
      } else if (role == "user") {
        ReadUser(*content, field, pointer, &in);
      } else {
        ReadAssistant(*content, field, pointer, &in);
      }
    }
    fields_->Keep(in.Done());
  }

  void ReadUser(const json& content, const std::string& field,
                const std::string& pointer, JsonFields* in) {
    std::optional<std::string> text;  // of the blocks since the last result
    const int before = chat_->messages_size();
    ReadAnthropicBlocks(
        content, field, pointer, in, [&](const AnthropicBlock& block) {
          if (block.type == "tool_result") {
            if (text) AddText("user", *std::exchange(text, {}));
            return ReadResult(block);
          }
          if (!text) text.emplace();
          if (!AppendAnthropicText(block, ignored_, &*text)) {
            FailBlockType(block,
                          "text, document, search_result or tool_result");
          }
        });
    if (text || chat_->messages_size() == before) {
      AddText("user", text.value_or(""));
    }
  }

  void ReadResult(const AnthropicBlock& in) {
    JsonFields* const block = in.fields;
    block->Require("tool_use_id");
    const std::string id = block->String("tool_use_id").value_or("");
    const auto call = calls_.find(id);
    if (call == calls_.end()) {
      block->Fail("tool_use_id",
                  fmt::format("is '{}', and no tool_use before it has this id",
                              Shorten(id)));
      return;
    }
    v1::Chat::Message* const message = Add("tool");
    message->set_tool_call_id(id);
    message->set_name(call->second);
    std::string text;
    if (const json* const content = block->Value("content")) {
      text =
          ReadAnthropicTexts(*content, in.path + ".content", ignored_, block);
    }
    // Templates have no place for it but the text.
    if (block->Bool("is_error").value_or(false)) text.insert(0, "Error: ");
    message->set_content(text);
    block->Ignore(kAnthropicShape, ignored_, {"cache_control"});
  }

  void ReadAssistant(const json& content, const std::string& field,
                     const std::string& pointer, JsonFields* in) {
    v1::Chat::Message* const message = Add("assistant");
    std::optional<std::string> text;
    std::string thoughts;
    ReadAnthropicBlocks(
        content, field, pointer, in, [&](const AnthropicBlock& block) {
          JsonFields* const fields = block.fields;
          if (block.type == "text") {
            if (!text) text.emplace();
            AppendAnthropicText(block, ignored_, &*text);
          } else if (block.type == "thinking") {
            fields->Require("thinking");
            thoughts += fields->String("thinking").value_or("");
            fields->String("signature");  // nothing here is signed
          } else if (block.type == "redacted_thinking") {
            fields->String("data");  // only Anthropic can read it
          } else if (block.type == "tool_use") {
            ReadCall(block, message->add_tool_calls());
          } else {
            FailBlockType(block, "text, thinking or tool_use");
          }
        });
    if (!thoughts.empty()) message->set_reasoning_content(thoughts);
    if (text || message->tool_calls().empty()) {
      message->set_content(text.value_or(""));
    }
  }

  void ReadCall(const AnthropicBlock& in, v1::Chat::ToolCall* call) {
    JsonFields* const block = in.fields;
    block->Require("id");
    block->Require("name");
    block->Require("input");
    call->set_id(block->String("id").value_or(""));
    call->set_name(block->String("name").value_or(""));
    const json* const input = block->Value("input");
    if (input != nullptr && !input->is_object()) {
      block->Fail("input", "must be an object");
    }
    block->Only("caller", {json{{"type", "direct"}}}, kNotForAnthropic);
    block->Ignore(kAnthropicShape, ignored_, {"cache_control"});
    if (!block->ok()) return;
    if (call->name().empty()) block->Fail("name", "is empty; name the tool");
    call->set_arguments(ToJsonText(body_.At(in.pointer + "/input")));
    calls_[call->id()] = call->name();
  }

  // The answer continues the last message.
  void ContinueLast(const std::string& field) {
    const v1::Chat::Message& last = *chat_->messages().rbegin();
    if (!last.tool_calls().empty()) {
      return fields_->Keep(InvalidField(
          field, "calls a tool, and no message has its tool_result; send it"));
    }
    if (last.content().empty()) {
      return fields_->Keep(
          InvalidField(field,
                       "has no text that the answer could continue; leave the "
                       "message out"));
    }
    chat_->set_continue_final_message(true);
  }

  void ReadTool(const json& value, size_t i) {
    JsonFields tool(value, fmt::format("tools[{}].", i));
    const std::string type = tool.String("type").value_or("custom");
    if (type != "custom") {
      tool.Fail("type", fmt::format("is '{}', a tool that Anthropic defines; "
                                    "send one of your own, of the type custom",
                                    Shorten(type)));
      return fields_->Keep(tool.Done());
    }
    tool.Require("name");
    tool.Require("input_schema");
    const auto name = tool.String("name");
    const auto description = tool.String("description");
    const json* const schema = tool.Value("input_schema");
    if (schema != nullptr && !schema->is_object()) {
      tool.Fail("input_schema", "must be an object");
    }
    // Calls always have the form of their schema.
    tool.Bool("strict");
    tool.Ignore(kAnthropicShape, ignored_,
                {"cache_control", "eager_input_streaming"});
    tool.Only("defer_loading", {false}, kNotForAnthropic);
    tool.Only("allowed_callers", {json::array({"direct"})}, kNotForAnthropic);
    const json* const examples = tool.Value("input_examples");
    if (examples != nullptr && !examples->is_array()) {
      tool.Fail("input_examples", "must be a list");
    }
    const absl::Status status = tool.Done();
    if (!status.ok()) return fields_->Keep(status);
    ordered_json function = {{"name", *name}};
    if (description) function["description"] = *description;
    ordered_json& parameters = function["parameters"];
    parameters = body_.At(fmt::format("/tools/{}/input_schema", i));
    if (examples != nullptr && !examples->empty()) {
      // JSON Schema's own place for them, which templates show to the model.
      parameters["examples"] =
          body_.At(fmt::format("/tools/{}/input_examples", i));
    }
    AddFunction(function, chat_);
  }

  WrittenBody body_;
  JsonFields* const fields_;
  IgnoredMembers* const ignored_;
  v1::Chat* const chat_;
  std::map<std::string, std::string> calls_;  // id -> the tool's name
};

// A model thinks only if it is asked to. Only then must its template have a
// place for it. Sets the bound of its thoughts.
AnthropicThinking ReadAnthropicThinking(JsonFields* fields, v1::Chat* chat) {
  const json* const value = fields->Value("thinking");
  if (value == nullptr) return {.thinking = {.on = false, .required = false}};
  JsonFields thinking(*value, "thinking.");
  thinking.Require("type");
  const std::string type = thinking.String("type").value_or("");
  if (type != "enabled" && type != "adaptive" && type != "disabled") {
    thinking.Fail("type",
                  fmt::format("is '{}'; it must be enabled, adaptive or "
                              "disabled",
                              Shorten(type)));
  }
  const auto budget = thinking.Integer("budget_tokens", 1, INT_MAX);
  if (budget && type != "disabled") {
    chat->set_max_thinking_tokens(static_cast<uint32_t>(*budget));
  }
  // Nobody summarizes: thoughts are shown as they are.
  thinking.Only("display", {"summarized", "omitted"},
                "must be summarized or omitted");
  const bool omitted = thinking.String("display") == "omitted";
  fields->Keep(thinking.Done());
  return {.thinking = {.on = type != "disabled", .required = type == "enabled"},
          .omitted = omitted};
}

}  // namespace

AnthropicThinking ReadAnthropicPrompt(std::string_view body, JsonFields* fields,
                                      IgnoredMembers* ignored,
                                      v1::GenerateRequest* request) {
  request->set_model(fields->String("model").value_or(""));
  v1::Chat* const chat = request->mutable_chat();
  chat->set_answer_parts(true);
  AnthropicPromptReader reader(body, fields, ignored, chat);
  reader.ReadSystem();
  reader.ReadMessages();
  reader.ReadTools();
  reader.ReadToolChoice();
  const auto effort = reader.ReadOutputConfig(request->mutable_decoding());
  fields->Only("mcp_servers", {json::array()},
               "is not supported: this server runs no tools itself; offer "
               "tools of yours");
  fields->Only("container", {json::object()},
               "is not supported: this server runs no code; leave it out");
  // Says which parts of a long chat to forget.
  fields->Only("context_management",
               {json::object(), json{{"edits", json::array()}}},
               "is not supported: nothing is dropped unasked; leave out the "
               "oldest messages of a chat that is too long");
  fields->Only("thread", {false},
               "is not supported, as nothing is stored here; send all messages "
               "of the conversation");
  fields->Only("compaction", {},
               "is not supported: nothing is summarized unasked; ask for a "
               "summary in a message");
  // About caches, bills, and models that decline to answer, as none does here.
  fields->Ignore(kAnthropicShape, ignored,
                 {"cache_control", "diagnostics", "billing_policy",
                  "fallback_credit_token", "fallbacks"});
  AnthropicThinking asked = ReadAnthropicThinking(fields, chat);
  // Without thoughts it changes nothing.
  if (asked.thinking.on.value_or(false)) asked.thinking.effort = effort;
  return asked;
}

bool ReadAnthropicOptions(JsonFields* fields, IgnoredMembers* ignored,
                          v1::GenerateRequest* request) {
  v1::DecodingOptions* const decoding = request->mutable_decoding();
  decoding->set_sampling_defaults(v1::SAMPLING_DEFAULTS_CHAT);
  fields->Require("max_tokens");
  if (const auto most = fields->Integer("max_tokens", 1, INT_MAX)) {
    decoding->set_max_new_tokens(static_cast<uint32_t>(*most));
  }
  for (std::string& stop : fields->Strings("stop_sequences")) {
    decoding->add_stop(std::move(stop));
  }
  if (const auto temperature = fields->Number("temperature")) {
    decoding->set_temperature(*temperature);
  } else {
    decoding->set_sample(true);
  }
  if (const auto p = fields->Number("top_p")) decoding->set_top_p(*p);
  if (const auto k = fields->Integer("top_k", 0, UINT32_MAX)) {
    decoding->set_top_k(static_cast<uint32_t>(*k));
  }
  const bool stream = fields->Bool("stream").value_or(false);
  // The user for whom a request is sent, and which machines answer it.
  fields->Ignore(kAnthropicShape, ignored,
                 {"metadata", "service_tier", "inference_geo"});
  fields->Only("speed", {"standard"}, kNotForAnthropic);
  return stream;
}

}  // namespace trivium
