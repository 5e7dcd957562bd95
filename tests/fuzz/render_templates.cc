// Renders chat templates for compare_templates: a line of JSON in,
// {"template": name or null, "source": text or null, "input": {...}}, a line of
// JSON out. A source is parsed once and kept under its name.
#include <iostream>
#include <map>
#include <string>

#include "base/json.h"
#include "model/chat_template.h"

namespace trivium {
namespace {

using nlohmann::ordered_json;

std::map<std::string, ChatTemplate> templates;

ordered_json Answer(const ordered_json& line) {
  const std::string name = line["template"];
  if (line.contains("source")) {
    const std::string source = line["source"];
    auto parsed = ChatTemplate::Parse(
        source,
        line["special_tokens"].get<std::map<std::string, std::string>>());
    if (!parsed.ok()) {
      return {{"refused", std::string(parsed.status().message())}};
    }
    templates.insert_or_assign(name, *std::move(parsed));
    return {{"parsed", true}};
  }
  const ordered_json& input = line["input"];
  const auto part = [&](const char* key) {
    return input.contains(key) ? input[key].get<std::string>() : "";
  };
  const std::string messages = part("messages");
  const std::string tools = part("tools");
  const std::string documents = part("documents");
  const std::string variables = part("variables");
  const auto prompt_texts = templates.at(name).Render(
      {.messages = messages,
       .tools = tools,
       .documents = documents,
       .variables = variables,
       .add_generation_prompt = input["add_generation_prompt"],
       .now = absl::FromUnixSeconds(input["now"].get<int64_t>()),
       .zone = absl::UTCTimeZone()});
  if (!prompt_texts.ok()) {
    return {{"error", std::string(prompt_texts.status().message())}};
  }
  ordered_json answer = {{"texts", ordered_json::array()}};
  for (const PromptText& prompt_text : *prompt_texts) {
    answer["texts"].push_back({prompt_text.text, prompt_text.from_template});
  }
  return answer;
}

}  // namespace
}  // namespace trivium

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << trivium::Answer(nlohmann::ordered_json::parse(line)).dump()
              << std::endl;
  }
}
