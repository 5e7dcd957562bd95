#include "tests/model/chat_format/transcripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "model/chat_format/text_units.h"

namespace trivium {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kQuestion[] = "A question zq8?";

std::optional<std::string> Render(const ChatTemplate& chat_template,
                                  const Json& answer,
                                  const std::string& variables) {
  Json messages = Json::array({{{"role", "user"}, {"content", kQuestion}}});
  if (!answer.is_null()) messages.push_back(answer);
  Json list = Json::parse(TranscriptTools());
  // Command R+'s template writes this type and cannot do without.
  list[0]["function"]["parameters"]["properties"]["options"]
      ["additionalProperties"] = {{"type", "string"}};
  const std::string json = messages.dump(), tools = list.dump();
  const auto prompt_texts =
      chat_template.Render({.messages = json,
                            .tools = tools,
                            .variables = variables,
                            .add_generation_prompt = answer.is_null()});
  if (!prompt_texts.ok()) return std::nullopt;
  std::string text;
  for (const PromptText& prompt_text : *prompt_texts) text += prompt_text.text;
  return text.substr(text.rfind(kQuestion) + sizeof(kQuestion) - 1);
}

Json Answer(const Transcript& transcript, bool arguments_as_text) {
  Json answer = {{"role", "assistant"}, {"content", transcript.content}};
  for (const Transcript::Call& call : transcript.calls) {
    answer["tool_calls"].push_back(
        {{"id", fmt::format("call{:05}", answer["tool_calls"].size())},
         {"type", "function"},
         {"function",
          {{"name", call.name},
           {"arguments", arguments_as_text ? Json(call.arguments.dump())
                                           : call.arguments}}}});
  }
  return answer;
}

// The answer in the ways in which templates take thoughts.
std::vector<Json> WithThought(const Transcript& transcript,
                              const Json& answer) {
  std::vector<Json> answers;
  for (const char* field : {"reasoning_content", "reasoning", "thinking"}) {
    answers.push_back(answer);
    answers.back()[field] = transcript.reasoning;
  }
  answers.push_back(answer);
  answers.back()["content"] =
      Json::array({{{"type", "thinking"}, {"thinking", transcript.reasoning}},
                   {{"type", "text"}, {"text", transcript.content}}});
  return answers;
}

}  // namespace

std::vector<Transcript> Transcripts() {
  const std::string content =
      "Grüße, {\"name\": 1}! <b>3 < 4</b>\n\n[x] → 🚀 end";
  const std::string thought = "First {this},\n\nthen <that> — 🤔.";
  const Json weather = {
      {"city", "Zürich \"Süd\"\n<x> {y} 🚀"},
      {"days", 7},
      {"options",
       {{"list", Json::array({1, 2.5, "a, b", {{"deep", false}}})},
        {"text", "it's 100% \\ fine"}}},
      {"exact", true}};
  const Json search = {{"query", "line one\nline two"}};
  return {
      {.name = "content", .content = content},
      {.name = "call", .content = "", .calls = {{"get_weather", weather}}},
      {.name = "two calls",
       .content = "",
       .calls = {{"get_weather", weather}, {"search", search}}},
      {.name = "empty call",
       .content = "",
       .calls = {{"search", Json::object()}}},
      {.name = "content and call",
       .content = content,
       .calls = {{"search", search}}},
      {.name = "thought", .content = content, .reasoning = thought},
      {.name = "thought and call",
       .content = "",
       .reasoning = thought,
       .calls = {{"search", search}}},
      // Texts that look like other values, or like the end of a call.
      {.name = "texts like values",
       .content = "",
       .calls = {{"search", {{"query", "7"}}},
                 {"get_weather",
                  {{"city", "null"}, {"days", -3}, {"exact", false}}},
                 {"search", {{"query", "{\"a\": [1]}"}}},
                 {"search", {{"query", ""}}}}},
      {.name = "marks in texts",
       .content = "",
       .calls = {{"search", {{"query", "a </tool_call> b }]\n} ``` </x>"}}},
                 {"get_weather",
                  {{"city", "\\\" \\n \t'"},
                   {"options",
                    {{"q",
                      {{"w",
                        {{"e", Json::array({Json::object(), nullptr,
                                            Json::array()})}}}}},
                     {"k", "]"}}}}}}},
      {.name = "thought and calls",
       .content = "",
       .reasoning = "One.\nTwo: 1 < 2 > 0 {\"name\": \"search\"}",
       .calls = {{"search", {{"query", "東京 \u00a0"}}},
                 {"get_weather", {{"city", "a"}, {"days", 12345678901}}}}},
      {.name = "thought, content and calls",
       .content = "I'll look: `{\"query\"}`",
       .reasoning = "L'été — «deux» appels?\n1. a\n2. b",
       .calls = {{"search", {{"query", "été \"1\""}}},
                 {"search", {{"query", "été \"1\""}}}}},
      // Names and texts that forms use themselves. A form with bare keys trims
      // them, so none here has white space around it.
      {.name = "keys like members",
       .content = "",
       .calls = {{"get_weather",
                  {{"city",
                    "{\"name\": \"look\"} <|im_end|> [TOOL_CALLS] <think>"},
                   {"options",
                    {{"name", "look"},
                     {"arguments", {{"parameters", Json::array({"</param>"})}}},
                     {"größe\n\"x\"", 0.5},
                     {"", Json::object()}}}}}}},
      {.name = "numbers and lists",
       .content = "",
       .calls = {{"get_weather",
                  {{"city", " leading and trailing "},
                   {"days", 0},
                   {"options",
                    {{"e", 1e-7},
                     {"z", -0.5},
                     {"m", Json::array({Json::array({Json::array(), 1}),
                                        Json::array({true, nullptr})})}}},
                   {"exact", false}}}}},
      {.name = "many calls",
       .content = "",
       .calls = {{"search", {{"query", "1"}}},
                 {"search", {{"query", "true"}}},
                 {"get_weather", {{"city", "Łódź'"}}},
                 {"search", {{"query", "1"}}},
                 {"search", {{"query", "a\tb\\"}}}}},
  };
}

std::string TranscriptTools() {
  return R"([
    {"type": "function", "function": {"name": "get_weather",
      "description": "The weather.", "parameters": {"type": "object",
        "properties": {
          "city": {"type": "string", "description": "c"},
          "days": {"type": "integer", "description": "d"},
          "options": {"type": "object", "description": "o"},
          "exact": {"type": "boolean", "description": "e"}},
        "required": ["city"]}}},
    {"type": "function", "function": {"name": "search",
      "description": "Searches.", "parameters": {"type": "object",
        "properties": {"query": {"type": "string", "description": "q"}},
        "required": []}}}])";
}

std::optional<Generated> Generate(const ChatTemplate& chat_template,
                                  const ChatFormat& format,
                                  const Transcript& transcript,
                                  const std::string& variables) {
  constexpr char kMark[] = "zq8content";
  Json answer = Answer(transcript, format.calls().arguments_as_text);
  const auto prompt = Render(chat_template, nullptr, variables);
  const auto plain = Render(
      chat_template, {{"role", "assistant"}, {"content", kMark}}, variables);
  std::optional<std::string> full;
  if (transcript.reasoning.empty()) {
    full = Render(chat_template, answer, variables);
  } else {
    for (const Json& one : WithThought(transcript, answer)) {
      full = Render(chat_template, one, variables);
      if (full && full->find(transcript.reasoning) != std::string::npos) break;
      full.reset();
    }
  }
  if (!prompt || !plain || !full) return std::nullopt;
  // The end of the turn is what follows any content.
  const std::string_view behind =
      std::string_view(*plain).substr(plain->find(kMark) + sizeof(kMark) - 1);
  std::string_view text = *full;
  const std::string_view tail = CommonEnd(behind, text);
  text.remove_suffix(tail.size());
  // The model was given what the answer shares with the generation prompt.
  const std::string_view header = CommonStart(text, *prompt);
  text.remove_prefix(header.size());
  std::string_view rest = Trim(std::string_view(*prompt).substr(header.size()));
  if (!rest.empty()) {
    // The prompt has more text before the mark that begins the answer.
    const auto units = TextUnits(rest);
    if (text.starts_with(units.back())) text.remove_prefix(units.back().size());
  }
  Generated generated;
  generated.thinking = format.OpensThinking(header);
  if (!transcript.reasoning.empty() && format.OpensThinking(*prompt)) {
    generated.thinking = true;
    if (TrimStart(text).starts_with(format.thinking().begin)) {
      text = TrimStart(text).substr(format.thinking().begin.size());
    }
  }
  for (const Transcript::Call& call : transcript.calls) {
    if (text.find(call.name) == std::string_view::npos) return std::nullopt;
  }
  generated.text = text;
  generated.has_content = text.find(transcript.content) != std::string::npos;
  return generated;
}

ReadMessage ReadInPieces(const ChatFormat& format,
                         const std::vector<ChatTool>& tools, bool thinking,
                         std::string_view text, unsigned seed) {
  std::mt19937 random(seed);
  ChatReader reader(&format, tools, thinking);
  ReadMessage message;
  while (!text.empty()) {
    const size_t size =
        std::min<size_t>(text.size(), 1 + random() % (seed % 3 == 0   ? 1
                                                      : seed % 3 == 1 ? 4
                                                                      : 40));
    for (const ChatDelta& delta : reader.Read(text.substr(0, size))) {
      message.Add(delta);
    }
    text.remove_prefix(size);
  }
  for (const ChatDelta& delta : reader.Finish()) message.Add(delta);
  return message;
}

namespace {

std::string Difference(const Transcript& transcript, bool has_content,
                       const ReadMessage& read) {
  const std::string content = has_content ? transcript.content : "";
  if (Trim(read.content) != content) {
    return fmt::format("content '{}'", read.content);
  }
  if (Trim(read.reasoning) != transcript.reasoning) {
    return fmt::format("thought '{}'", read.reasoning);
  }
  if (read.calls.size() != transcript.calls.size()) {
    return fmt::format("{} calls", read.calls.size());
  }
  for (size_t i = 0; i < read.calls.size(); ++i) {
    const ReadMessage::Call& call = read.calls[i];
    const auto arguments =
        nlohmann::json::parse(call.arguments, nullptr, /*exceptions=*/false);
    if (!call.complete) return fmt::format("call {} has no end", i);
    if (call.name != transcript.calls[i].name ||
        arguments != nlohmann::json(transcript.calls[i].arguments)) {
      return fmt::format("call {}: {} {}", i, call.name, call.arguments);
    }
  }
  return "";
}

}  // namespace

std::string Compare(const ChatFormat& format, const Transcript& transcript,
                    const Generated& generated) {
  const std::vector<ChatTool> tools = *ParseChatTools(TranscriptTools());
  const std::string whole = Difference(
      transcript, generated.has_content,
      ReadChatMessage(format, tools, generated.thinking, generated.text));
  if (!whole.empty()) return whole;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::string cut = Difference(
        transcript, generated.has_content,
        ReadInPieces(format, tools, generated.thinking, generated.text, seed));
    if (!cut.empty()) return "with cuts: " + cut;
  }
  return "";
}

}  // namespace trivium
