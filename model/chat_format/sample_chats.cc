#include "model/chat_format/sample_chats.h"

#include "base/json.h"

namespace trivium {

namespace {

using Json = SampleChats::Json;

Json Tool(std::string_view name) {
  const Json properties = {
      {std::string(sample::kFirstKey),
       {{"type", "string"}, {"description", "A text."}}},
      {std::string(sample::kSecondKey),
       {{"type", "integer"}, {"description", "A number."}}}};
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"description", "A tool."},
            {"parameters",
             {{"type", "object"},
              {"properties", properties},
              {"required", Json::array({sample::kFirstKey})}}}}}};
}

Json Call(std::string_view id, std::string_view name, const Json& arguments,
          bool as_text) {
  return {{"id", id},
          {"type", "function"},
          {"function",
           {{"name", name},
            {"arguments", as_text ? Json(arguments.dump()) : arguments}}}};
}

}  // namespace

SampleChats::SampleChats(const ChatTemplate& chat_template,
                         const ChatFormat::Options& options)
    : template_(chat_template),
      variables_(Json::object()),
      check_alive_(options.check_alive) {
  if (options.variables.empty()) return;
  auto variables = ParseJson(options.variables, kConfigJson);
  if (variables.ok() && variables->is_object()) variables_ = *variables;
}

Json SampleChats::Calls(int calls, bool arguments_as_text) {
  Json list = Json::array();
  list.push_back(Call(sample::kFirstId, sample::kFirstTool,
                      {{std::string(sample::kFirstKey), sample::kFirstValue},
                       {std::string(sample::kSecondKey), 860753091}},
                      arguments_as_text));
  if (calls == 2) {
    list.push_back(
        Call(sample::kSecondId, sample::kSecondTool,
             {{std::string(sample::kFirstKey), sample::kSecondValue}},
             arguments_as_text));
  }
  return {{"role", "assistant"}, {"content", ""}, {"tool_calls", list}};
}

std::optional<std::string> SampleChats::Render(const Json& messages, bool tools,
                                               bool generation_prompt,
                                               const Json& variables) const {
  Json all = variables_;
  for (const auto& [name, value] : variables.items()) all[name] = value;
  const std::string messages_json = messages.dump(),
                    variables_json = all.dump();
  const std::string tools_json =
      Json::array({Tool(sample::kFirstTool), Tool(sample::kSecondTool)}).dump();
  ChatInput input;
  input.messages = messages_json;
  if (tools) input.tools = tools_json;
  input.variables = variables_json;
  input.add_generation_prompt = generation_prompt;
  input.check_alive = check_alive_;
  const auto prompt_texts = template_.Render(input);
  if (!prompt_texts.ok()) return std::nullopt;
  std::string text;
  for (const PromptText& prompt_text : *prompt_texts) text += prompt_text.text;
  return text;
}

std::optional<std::string> SampleChats::Answer(const Json& answer,
                                               const Json& variables) const {
  Json messages = Json::array({{{"role", "user"}, {"content", sample::kUser}}});
  if (!answer.is_null()) messages.push_back(answer);
  std::optional<std::string> text =
      Render(messages, /*tools=*/true, answer.is_null(), variables);
  if (!text) return std::nullopt;
  const size_t user = text->rfind(sample::kUser);
  if (user == std::string::npos) return std::nullopt;
  return text->substr(user + sample::kUser.size());
}

std::optional<std::string> SampleChats::Prompt(bool tools,
                                               const Json& variables) const {
  return Render(Json::array({{{"role", "user"}, {"content", sample::kUser}}}),
                tools, /*generation_prompt=*/true, variables);
}

}  // namespace trivium
