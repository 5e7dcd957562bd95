// Converts conversations to ids.
//
// A chat becomes the JSON that Transformers' apply_chat_template reads. The
// model's template makes text of it, and the tokenizer makes ids. Nothing here
// interprets what people wrote: each character keeps whether the template wrote
// it until the tokenizer has read it (model/chat_template.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/status.h"
#include "base/whole_number.h"
#include "model/chat_template.h"
#include "nlohmann/json.hpp"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using nlohmann::json;

// The most variables of a chat, since rendering looks names up one by one.
constexpr int kMaxVariables = 64;

std::string Quoted(const std::string& text) {
  return json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                         json::error_handler_t::replace);
}

// Writes a JSON object member by member.
class ObjectText {
 public:
  void Add(const std::string& name, std::string_view value) {
    text_ += fmt::format("{}{}: {}", text_.size() > 1 ? ", " : "", Quoted(name),
                         value);
  }
  void AddText(const std::string& name, const std::string& value) {
    Add(name, Quoted(value));
  }
  std::string Finish() { return std::move(text_) + "}"; }

 private:
  std::string text_ = "{";
};

// Checks that the text is a JSON object. It is used as it is written, because
// the model reads the order of its names and the digits of its numbers.
absl::Status CheckObject(const std::string& text, const std::string& path) {
  if (text.find('{') == text.find_first_not_of(" \t\r\n") &&
      json::accept(text)) {
    return absl::OkStatus();
  }
  return InvalidField(path, "is not a JSON object, as {\"name\": \"x\"}");
}

absl::StatusOr<std::string> ToJson(const v1::Chat::ToolCall& in,
                                   const std::string& path) {
  ObjectText function;
  function.AddText("name", in.name());
  if (in.name().empty()) {
    return InvalidField(path + ".name", "is empty; name the function");
  }
  if (!in.arguments().empty()) {
    TRIVIUM_RETURN_IF_ERROR(CheckObject(in.arguments(), path + ".arguments"));
  }
  function.Add("arguments", in.arguments().empty() ? "{}" : in.arguments());
  ObjectText call;
  if (in.has_id()) call.AddText("id", in.id());
  call.AddText("type", "function");
  call.Add("function", function.Finish());
  return call.Finish();
}

absl::StatusOr<std::string> ToJson(const v1::Chat::Message& in,
                                   const std::string& path) {
  if (in.role().empty()) {
    return InvalidField(path + ".role",
                        "is empty; say who speaks: system, user, assistant or "
                        "tool");
  }
  if (!in.has_content() && in.tool_calls().empty()) {
    return InvalidField(path, "has neither content nor tool_calls");
  }
  ObjectText message;
  message.AddText("role", in.role());
  if (in.has_content()) message.AddText("content", in.content());
  if (in.has_reasoning_content()) {
    message.AddText("reasoning_content", in.reasoning_content());
  }
  if (in.has_name()) message.AddText("name", in.name());
  if (in.has_tool_call_id()) {
    message.AddText("tool_call_id", in.tool_call_id());
  }
  if (in.tool_calls().empty()) return message.Finish();
  std::string calls = "[";
  for (int i = 0; i < in.tool_calls_size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::string call,
        ToJson(in.tool_calls(i), fmt::format("{}.tool_calls[{}]", path, i)));
    calls += (i > 0 ? ", " : "") + call;
  }
  message.Add("tool_calls", calls + "]");
  return message.Finish();
}

absl::StatusOr<std::string> Messages(const v1::Chat& in,
                                     const std::string& path) {
  if (in.messages().empty()) {
    return InvalidField(path + ".messages", "is empty; send at least one");
  }
  std::string messages = "[";
  for (int i = 0; i < in.messages_size(); ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::string message,
        ToJson(in.messages(i), fmt::format("{}.messages[{}]", path, i)));
    messages += (i > 0 ? ", " : "") + message;
  }
  return messages + "]";
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Struct& in,
                                   const std::string& path);

// Recurses as deeply as protobuf lets messages be nested.
absl::StatusOr<std::string> ToJson(const google::protobuf::Value& in,
                                   const std::string& path) {
  using google::protobuf::Value;
  switch (in.kind_case()) {
    case Value::kNullValue:
      return std::string("null");
    case Value::kBoolValue:
      return std::string(in.bool_value() ? "true" : "false");
    case Value::kStringValue:
      return Quoted(in.string_value());
    case Value::kStructValue:
      return ToJson(in.struct_value(), path);
    case Value::kNumberValue: {
      const double number = in.number_value();
      if (!std::isfinite(number)) {
        return InvalidField(path, "is infinite or not a number");
      }
      if (const auto whole = WholeNumber(number)) {
        return fmt::format("{}", *whole);
      }
      return fmt::format("{}", number);
    }
    case Value::kListValue: {
      std::string list = "[";
      for (const Value& each : in.list_value().values()) {
        TRIVIUM_ASSIGN_OR_RETURN(const std::string item, ToJson(each, path));
        list += (list.size() > 1 ? ", " : "") + item;
      }
      return list + "]";
    }
    case Value::KIND_NOT_SET:
      break;
  }
  return InvalidField(path, "has no value; null is one");
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Struct& in,
                                   const std::string& path) {
  // A protobuf map has no order of its own.
  std::map<std::string_view, const google::protobuf::Value*> sorted;
  for (const auto& [name, value] : in.fields()) sorted[name] = &value;
  ObjectText object;
  for (const auto& [name, value] : sorted) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::string text,
        ToJson(*value, fmt::format("{}.{}", path, Shorten(name))));
    object.Add(std::string(name), text);
  }
  return object.Finish();
}

absl::Status CheckVariables(const google::protobuf::Struct& in,
                            const std::string& path) {
  if (in.fields_size() > kMaxVariables) {
    return InvalidField(path, fmt::format("has {} names; a chat has at most {}",
                                          in.fields_size(), kMaxVariables));
  }
  for (const char* name : {"messages", "tools", "add_generation_prompt"}) {
    if (in.fields().contains(name)) {
      return InvalidField(
          path, fmt::format("sets {}, which is a field of its own", name));
    }
  }
  return absl::OkStatus();
}

// True if the answer may call tools; else the template does not see them.
bool MayCall(const v1::Chat& in) {
  return !in.tools().empty() && in.tool_choice() != v1::Chat::TOOL_CHOICE_NONE;
}

// INVALID_ARGUMENT for tools and variables that the template never reads: the
// model would not learn of them.
absl::Status CheckPlaces(const v1::Chat& in, const std::string& path,
                         const ChatTemplate& chat) {
  const auto no_place = [&path](const std::string& field,
                                const std::string& what) {
    return InvalidField(path + field,
                        fmt::format("the model's chat template has no place "
                                    "for {}; leave it out",
                                    what));
  };
  if (MayCall(in) && !chat.MayRead("tools")) {
    return no_place(".tools", "tools");
  }
  std::set<std::string_view> names;
  for (const auto& [name, value] : in.variables().fields()) names.insert(name);
  for (const std::string_view name : names) {
    if (chat.MayRead(name)) continue;
    return no_place(".variables",
                    fmt::format("'{}'", Shorten(std::string(name))));
  }
  return absl::OkStatus();
}

absl::StatusOr<const ChatTemplate*> FindTemplate(const v1::Chat& in,
                                                 const std::string& path,
                                                 const Model& model) {
  if (model.info().design != Design::kDecoder) {
    return absl::FailedPreconditionError(
        path + ": is for models without an encoder; send the text as input");
  }
  if (model.tokenizer() == nullptr) {
    return absl::FailedPreconditionError(
        path + ": the model's folder has no tokenizer; send token ids");
  }
  const auto found =
      model.chat_templates().Find(in.template_name(), MayCall(in));
  if (found.ok()) return found;
  const std::string why(found.status().message());
  if (!absl::IsNotFound(found.status())) {
    return absl::FailedPreconditionError(path + ": " + why);
  }
  return InvalidField(path + ".template_name", why);
}

// The last bytes that one author wrote: more than any mark has.
std::string EndOf(const std::vector<PromptText>& prompt_texts) {
  constexpr size_t kMost = 256;
  if (prompt_texts.empty()) return "";
  const std::string& last = prompt_texts.back().text;
  return last.substr(last.size() - std::min(last.size(), kMost));
}

// An error of rendering as one of the chat's field, if it begins with that.
absl::Status AboutParts(const absl::Status& status, const std::string& path) {
  const std::string message(status.message());
  for (const std::string field : {"tools", "variables"}) {
    if (status.code() == absl::StatusCode::kInvalidArgument &&
        message.starts_with(field + ": ")) {
      return InvalidField(fmt::format("{}.{}", path, field),
                          message.substr(field.size() + 2));
    }
  }
  return AboutText(status, path);
}

}  // namespace

absl::StatusOr<std::string> CallableTools(const v1::Chat& in,
                                          const std::string& path) {
  for (int i = 0; i < in.tools_size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckObject(in.tools(i), fmt::format("{}.tools[{}]", path, i)));
  }
  if (!MayCall(in)) return std::string();
  return fmt::format("[{}]", fmt::join(in.tools(), ", "));
}

absl::StatusOr<PreparedInput> ConvertChat(const v1::Chat& in,
                                          const std::string& path,
                                          absl::Time now,
                                          const InputOptions& options,
                                          ChatPrompt* prompt) {
  const Model& model = *options.model;
  TRIVIUM_ASSIGN_OR_RETURN(const ChatTemplate* const chat,
                           FindTemplate(in, path, model));
  TRIVIUM_RETURN_IF_ERROR(
      CheckTextBytes(in.ByteSizeLong(), path, *options.limits));
  TRIVIUM_ASSIGN_OR_RETURN(const std::string messages, Messages(in, path));
  TRIVIUM_ASSIGN_OR_RETURN(const std::string tools, CallableTools(in, path));
  TRIVIUM_RETURN_IF_ERROR(CheckVariables(in.variables(), path + ".variables"));
  TRIVIUM_RETURN_IF_ERROR(CheckPlaces(in, path, *chat));
  TRIVIUM_ASSIGN_OR_RETURN(const std::string variables,
                           ToJson(in.variables(), path + ".variables"));
  ChatInput input;
  input.messages = messages;
  input.tools = tools;
  input.variables = variables;
  const bool continues = in.continue_final_message();
  input.add_generation_prompt =
      in.has_add_generation_prompt() ? in.add_generation_prompt() : !continues;
  if (continues) {
    if (input.add_generation_prompt) {
      return InvalidField(path + ".add_generation_prompt",
                          "begins an answer, and continue_final_message goes "
                          "on with one; choose");
    }
    input.continued = in.messages(in.messages_size() - 1).content();
  }
  input.most_bytes = static_cast<size_t>(options.limits->max_text_bytes);
  input.now = now;
  input.zone = absl::LocalTimeZone();
  input.check_alive = options.check_alive;

  const int most = model.info().max_target_tokens - 1;
  const absl::StatusOr<std::vector<PromptText>> prompt_texts =
      chat->Render(input);
  if (!prompt_texts.ok()) return AboutParts(prompt_texts.status(), path);
  prompt->chat_template = chat;
  prompt->variables = variables;
  prompt->end = EndOf(*prompt_texts);
  if (prompt->text != nullptr) {
    for (const PromptText& part : *prompt_texts) *prompt->text += part.text;
  }
  EncodeOptions encode;
  encode.most_tokens = most;
  encode.check_alive = options.check_alive;
  absl::StatusOr<Encoding> encoding =
      EncodePrompt(*prompt_texts, *model.tokenizer(), encode);
  if (!encoding.ok()) return AboutText(encoding.status(), path);
  TRIVIUM_RETURN_IF_ERROR(CheckTokenCount(
      *encoding, path, most, "send fewer messages, or shorter ones"));
  PreparedInput out;
  out.prefix = std::move(encoding->ids);
  return out;
}

}  // namespace trivium
