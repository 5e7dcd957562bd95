#include "server/adapters/openai_responses_input.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "server/adapters/json_body.h"
#include "server/adapters/openai_request.h"
#include "server/adapters/text_documents.h"
#include "server/errors/status.h"

namespace trivium {

using nlohmann::json;

namespace {

constexpr char kAssistantRole[] = "assistant";

// Appends the text of a part of type "input_file".
void ReadInputFile(JsonFields* part, std::string* text) {
  part->Only("file_id", {}, kNoStoredFiles);
  part->Only("file_url", {},
             "is not supported, as the server fetches nothing; send the file "
             "itself as file_data");
  part->Require("file_data");
  part->Value("detail");  // how closely to look at pictures of its pages
  AppendDocument(
      {part->String("filename").value_or(""), ReadTextFile("file_data", part)},
      text);
}

// Reads the texts of a list of parts, each of one of `types`, and joins them.
// The text of a part of type "refusal" is in `refusal`.
std::string ReadResponsesTexts(const json& parts, const std::string& path,
                               std::initializer_list<std::string_view> types,
                               JsonFields* item) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    JsonFields part(parts[i], place + ".");
    const std::string type = part.String("type").value_or("");
    bool known = false;
    for (const std::string_view one : types) known = known || type == one;
    if (!known) {
      item->Keep(InvalidField(
          place + ".type",
          fmt::format("is '{}'; the models here read texts only: send {}",
                      Shorten(type), fmt::join(types, " or "))));
      return "";
    }
    if (type == "input_file") {
      ReadInputFile(&part, &joined);
    } else {
      const char* const member = type == "refusal" ? "refusal" : "text";
      part.Require(member);
      joined += part.String(member).value_or("");
    }
    // Parts of answers come back with them.
    part.Value("annotations");
    part.Value("logprobs");
    item->Keep(part.Done());
  }
  return joined;
}

// Reads a member that is a text or a list of parts.
std::string ReadTextOrParts(const char* name, const std::string& path,
                            JsonFields* item) {
  const json* const value = item->Value(name);
  if (value == nullptr) {
    item->Require(name);
    return "";
  }
  if (value->is_string()) return value->get<std::string>();
  if (!value->is_array()) {
    item->Fail(name, "must be a text or a list of parts");
    return "";
  }
  return ReadResponsesTexts(
      *value, fmt::format("{}.{}", path, name),
      {"input_text", "output_text", "text", "refusal", "input_file"}, item);
}

}  // namespace

void ResponsesInput::AddInstructions(const std::string& text) {
  Begin("system", "instructions")->set_content(text);
}

void ResponsesInput::Read(JsonFields* fields) {
  const json* const input = fields->Value("input");
  if (input == nullptr) return fields->Require("input");
  if (input->is_string()) {
    return Begin("user", "input")->set_content(input->get<std::string>());
  }
  if (!input->is_array() || input->empty()) {
    return fields->Fail("input", "must be a text or a list of items");
  }
  for (size_t i = 0; i < input->size() && fields->ok(); ++i) {
    ReadItem((*input)[i], fmt::format("input[{}]", i), fields);
  }
  EndThoughts();
}

void ResponsesInput::ReadItem(const json& item, const std::string& path,
                              JsonFields* fields) {
  JsonFields in(item, path + ".");
  const bool speaks = item.is_object() && item.contains("role");
  const std::string type =
      in.String("type").value_or(speaks ? "message" : "item_reference");
  // Names of items, and how far they came.
  in.Value("id");
  in.Value("status");
  if (type == "message") {
    ReadMessageItem(&in, path);
  } else if (type == "reasoning") {
    ReadReasoning(&in, path);
  } else if (type == "function_call") {
    ReadCall(&in, path);
  } else if (type == "function_call_output") {
    ReadCallOutput(&in, path);
  } else if (type == "item_reference") {
    in.Fail("", "refers to an item, and none is stored here; send it whole");
  } else {
    in.Fail("type",
            fmt::format("is '{}'; it must be message, reasoning, function_call "
                        "or function_call_output",
                        Shorten(type)));
  }
  fields->Keep(in.Done());
}

void ResponsesInput::ReadMessageItem(JsonFields* item,
                                     const std::string& path) {
  item->Require("role");
  const std::string role = item->String("role").value_or("");
  item->Value("phase");  // whether an answer was the last of its turn
  std::string text = ReadTextOrParts("content", path, item);
  if (role == kAssistantRole) {
    v1::Chat::Message* open = OpenAssistant();
    // A message without calls is whole.
    if (open == nullptr || open->tool_calls().empty()) {
      open = BeginAssistant(path);
    }
    return open->set_content(open->content() + text);
  }
  EndThoughts();
  if (role == "user") return Begin("user", path)->set_content(text);
  if (role == "system" || role == "developer") {
    return Begin("system", path)->set_content(text);
  }
  item->Fail("role", fmt::format("is '{}'; it must be system, developer, user "
                                 "or assistant, and what a tool returned is an "
                                 "item of type function_call_output",
                                 Shorten(role)));
}

// Thoughts in full, or else their summary. Encrypted ones cannot be read.
void ResponsesInput::ReadReasoning(JsonFields* item, const std::string& path) {
  item->Value("encrypted_content");
  std::string text;
  for (const auto& [name, type] :
       {std::pair("content", "reasoning_text"), {"summary", "summary_text"}}) {
    const json* const parts = item->Value(name);
    if (parts == nullptr) continue;
    if (!parts->is_array()) return item->Fail(name, "must be a list of parts");
    const std::string part = ReadResponsesTexts(
        *parts, fmt::format("{}.{}", path, name), {type}, item);
    if (text.empty()) text = part;
  }
  if (text.empty()) return;
  if (!thoughts_.empty()) thoughts_ += '\n';
  thoughts_ += text;
  thoughts_path_ = path;
}

void ResponsesInput::ReadCall(JsonFields* item, const std::string& path) {
  for (const char* const name : {"call_id", "name", "arguments"}) {
    item->Require(name);
  }
  const std::string id = item->String("call_id").value_or("");
  const std::string name = item->String("name").value_or("");
  const std::string arguments = item->String("arguments").value_or("");
  if (!arguments.empty() && !IsJsonObject(arguments)) {
    item->Fail("arguments", kNoArguments);
  }
  v1::Chat::Message* message = OpenAssistant();
  if (message == nullptr) message = BeginAssistant(path);
  v1::Chat::ToolCall* const call = message->add_tool_calls();
  call->set_id(id);
  call->set_name(name);
  call->set_arguments(arguments);
  call_names_[id] = name;
}

void ResponsesInput::ReadCallOutput(JsonFields* item, const std::string& path) {
  item->Require("call_id");
  const std::string id = item->String("call_id").value_or("");
  const std::string output = ReadTextOrParts("output", path, item);
  const auto call = call_names_.find(id);
  if (call == call_names_.end()) {
    return item->Fail("call_id",
                      fmt::format("is '{}', which no function_call before it "
                                  "has; nothing is stored here, so send the "
                                  "call, too",
                                  Shorten(id)));
  }
  EndThoughts();
  v1::Chat::Message* const message = Begin("tool", path);
  message->set_content(output);
  message->set_tool_call_id(id);
  message->set_name(call->second);
}

v1::Chat::Message* ResponsesInput::Begin(const char* role,
                                         const std::string& path) {
  fields_.push_back(path);
  v1::Chat::Message* const message = chat_->add_messages();
  message->set_role(role);
  return message;
}

v1::Chat::Message* ResponsesInput::BeginAssistant(const std::string& path) {
  v1::Chat::Message* const message = Begin(kAssistantRole, path);
  if (!thoughts_.empty()) {
    message->set_reasoning_content(std::exchange(thoughts_, ""));
  }
  return message;
}

v1::Chat::Message* ResponsesInput::OpenAssistant() {
  if (!thoughts_.empty() || chat_->messages().empty()) return nullptr;
  v1::Chat::Message* const last =
      chat_->mutable_messages(chat_->messages_size() - 1);
  return last->role() == kAssistantRole ? last : nullptr;
}

void ResponsesInput::EndThoughts() {
  if (!thoughts_.empty()) BeginAssistant(thoughts_path_)->set_content("");
}

}  // namespace trivium
