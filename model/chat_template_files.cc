#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "model/chat_template.h"
#include "model/gguf/gguf_tokenizer.h"

namespace trivium {

namespace {

using nlohmann::json;

constexpr size_t kLongestFile = size_t{1} << 20;  // bytes of a template

// Returns the text of every special token that the file names, as a string or
// as an object with "content".
std::map<std::string, std::string> SpecialTokens(const json& config) {
  std::map<std::string, std::string> tokens;
  for (const auto& [name, value] : config.items()) {
    if (!name.ends_with("_token")) continue;
    const json* text = &value;
    if (value.is_object() && value.contains("content")) {
      text = &value["content"];
    }
    if (text->is_string()) tokens[name] = *text->get_ptr<const std::string*>();
  }
  return tokens;
}

// Reads a file of the folder; returns null if it does not exist.
absl::StatusOr<json> ReadIfThere(const std::string& path) {
  absl::StatusOr<json> read = ReadJsonFile(path);
  if (absl::IsNotFound(read.status())) return json();
  return read;
}

// Returns the templates that chat_template holds, by name. It is one text or a
// list [{"name": , "template": }].
absl::StatusOr<std::map<std::string, std::string>> Sources(
    const std::string& path, const json& config) {
  std::map<std::string, std::string> sources;
  if (!config.is_object() || !config.contains("chat_template")) return sources;
  const json& value = config["chat_template"];
  if (value.is_null()) return sources;
  if (value.is_string()) {
    sources["default"] = *value.get_ptr<const std::string*>();
    return sources;
  }
  const absl::Status wrong = absl::InvalidArgumentError(fmt::format(
      "{}: chat_template is neither a text nor a list of objects with a name "
      "and a template; correct or remove it",
      path));
  if (!value.is_array()) return wrong;
  for (const json& each : value) {
    if (!each.is_object() || !each.contains("name") ||
        !each["name"].is_string() || !each.contains("template") ||
        !each["template"].is_string()) {
      return wrong;
    }
    sources[*each["name"].get_ptr<const std::string*>()] =
        *each["template"].get_ptr<const std::string*>();
  }
  return sources;
}

// Adds the templates beside the default one:
// additional_chat_templates/NAME.jinja.
absl::Status AddOthers(const std::string& folder,
                       std::map<std::string, std::string>* sources) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator
           file(folder + "/additional_chat_templates", error),
       end;
       !error && file != end; file.increment(error)) {
    if (file->path().extension() != ".jinja") continue;
    TRIVIUM_ASSIGN_OR_RETURN((*sources)[file->path().stem().string()],
                             ReadFile(file->path().string(), kLongestFile));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ChatTemplates> ChatTemplates::Load(const std::string& folder) {
  const std::string config_path = folder + "/tokenizer_config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadIfThere(config_path));
  std::string path = folder + "/chat_template.jinja";
  absl::StatusOr<std::string> alone = ReadFile(path, kLongestFile);
  if (alone.ok()) {
    std::map<std::string, std::string> sources;
    TRIVIUM_RETURN_IF_ERROR(AddOthers(folder, &sources));
    sources["default"] = *std::move(alone);
    return Parse(sources, config, path);
  }
  if (!absl::IsNotFound(alone.status())) return alone.status();
  path = folder + "/chat_template.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json file, ReadIfThere(path));
  TRIVIUM_ASSIGN_OR_RETURN(const auto sources, Sources(path, file));
  if (!sources.empty()) return Parse(sources, config, path);
  return FromConfig(config, config_path);
}

absl::StatusOr<ChatTemplates> ChatTemplates::FromConfig(
    const json& tokenizer_config, const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto sources, Sources(path, tokenizer_config));
  return Parse(sources, tokenizer_config, path);
}

absl::StatusOr<ChatTemplates> ChatTemplates::Parse(
    const std::map<std::string, std::string>& sources,
    const json& tokenizer_config, const std::string& path) {
  std::map<std::string, std::string> tokens;
  std::string begin;
  if (tokenizer_config.is_object()) {
    tokens = SpecialTokens(tokenizer_config);
    const auto found = tokenizer_config.find(kChatsBeginWith);
    if (found != tokenizer_config.end() && found->is_string()) {
      begin = *found->get_ptr<const std::string*>();
    }
  }
  ChatTemplates templates;
  for (const auto& [name, source] : sources) {
    absl::StatusOr<ChatTemplate> parsed =
        ChatTemplate::Parse(source, tokens, begin);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: the chat template '{}', {}", path, name,
                      std::string(parsed.status().message())));
    }
    templates.templates_.emplace(name, *std::move(parsed));
  }
  return templates;
}

ChatTemplates ChatTemplates::Refused(std::string why) {
  ChatTemplates templates;
  templates.refusal_ = std::move(why);
  return templates;
}

std::vector<std::string> ChatTemplates::names() const {
  std::vector<std::string> names;
  for (const auto& [name, _] : templates_) names.push_back(name);
  return names;
}

absl::StatusOr<const ChatTemplate*> ChatTemplates::Find(std::string_view name,
                                                        bool has_tools) const {
  if (!refusal_.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "the model takes no chats ({}); send a prompt instead, or correct the "
        "template",
        refusal_));
  }
  if (templates_.empty()) {
    return absl::FailedPreconditionError(
        "the model's folder has no chat template; send a prompt instead, or "
        "add chat_template.jinja to the folder");
  }
  if (name.empty()) {
    const auto with_tools = templates_.find("tool_use");
    if (has_tools && with_tools != templates_.end()) return &with_tools->second;
    name = "default";
  }
  const auto found = templates_.find(name);
  if (found != templates_.end()) return &found->second;
  return absl::NotFoundError(
      fmt::format("there is no chat template '{}'; the model has '{}'", name,
                  fmt::join(names(), "', '")));
}

}  // namespace trivium
