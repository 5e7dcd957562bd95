// The files override each other as in Transformers. Special tokens of
// tokenizer_config.json replace those of special_tokens_map.json. Added tokens
// come from added_tokens.json, replaced by id by added_tokens_decoder; they are
// kept in the order of their ids, because tokens that the model lacks are
// numbered in this order.
#include "model/tokenizer/folder_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/json.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/json_fields.h"
#include "model/tokenizer/vocabulary.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

constexpr std::array<const char*, 7> kRoles = {
    "bos_token", "eos_token",  "cls_token", "sep_token",
    "pad_token", "mask_token", "unk_token"};

constexpr int kMostExtraIds = 10'000;

// Reads a string, or an object with flags.
std::optional<AddedToken> SpecialToken(const nlohmann::json& value) {
  AddedToken token;
  if (value.is_string()) {
    token.content = *value.get_ptr<const std::string*>();
  } else if (!ReadAddedToken(value, &token)) {
    return std::nullopt;
  }
  token.special = true;
  return token;
}

void ReadSpecials(const nlohmann::json& json, FolderConfig* config) {
  for (const char* role : kRoles) {
    const auto found = json.find(role);
    if (found == json.end()) continue;
    std::optional<AddedToken> token = SpecialToken(*found);
    if (token.has_value()) config->special_tokens[role] = *std::move(token);
  }
  for (const char* name :
       {"additional_special_tokens", "extra_special_tokens"}) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_array()) continue;
    for (const nlohmann::json& value : *found) {
      std::optional<AddedToken> token = SpecialToken(value);
      if (token.has_value()) config->added_tokens.push_back(*std::move(token));
    }
  }
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  return text;
}

std::string ClassOf(const nlohmann::json& tokenizer_config) {
  const auto found = tokenizer_config.find("tokenizer_class");
  if (found == tokenizer_config.end() || !found->is_string()) return "";
  std::string name = LowerCase(*found->get_ptr<const std::string*>());
  for (const std::string ending : {"fast", "tokenizer"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  // config.json spells these classes differently.
  if (name == "xlmroberta") return "xlm-roberta";
  if (name == "debertav2") return "deberta-v2";
  return name;
}

}  // namespace

absl::StatusOr<nlohmann::json> LoadObject(const std::string& path) {
  absl::StatusOr<nlohmann::json> json = ReadJsonFile(path);
  if (absl::IsNotFound(json.status())) {
    return nlohmann::json(nlohmann::json::object());
  }
  return json;
}

absl::StatusOr<FolderConfig> FolderConfig::Load(const std::string& folder) {
  FolderConfig config;
  const std::string path = folder + "/tokenizer_config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json tokenizer, LoadObject(path));
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json map,
                           LoadObject(folder + "/special_tokens_map.json"));
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json added,
                           LoadObject(folder + "/added_tokens.json"));
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json model,
                           LoadObject(folder + "/config.json"));
  config.tokenizer_class = ClassOf(tokenizer);
  if (config.tokenizer_class.empty()) config.tokenizer_class = ClassOf(model);
  config.source_language = StringField(tokenizer, "src_lang", "");
  config.language_codes = StringField(tokenizer, "language_codes", "");
  config.family = LowerCase(StringField(model, "model_type", ""));
  if (config.family.empty()) config.family = config.tokenizer_class;
  for (const auto& [name, value] : tokenizer.items()) {
    if (value.is_boolean()) config.flags[name] = *value.get_ptr<const bool*>();
  }
  const auto extra = tokenizer.find("extra_ids");
  if (extra != tokenizer.end()) {
    if (!extra->is_number_integer() || *extra < 0 || *extra > kMostExtraIds) {
      return absl::InvalidArgumentError(
          fmt::format("{}: extra_ids is {}; give a number from 0 to {}", path,
                      extra->dump(), kMostExtraIds));
    }
    config.extra_ids = extra->get<int>();
  }
  // In the order of ids: tokens that the model lacks are numbered in this
  // order.
  std::map<int64_t, AddedToken> with_ids;
  for (const auto& [content, id] : added.items()) {
    if (!id.is_number_integer()) {
      return absl::InvalidArgumentError(
          fmt::format("{}/added_tokens.json gives \"{}\" an id that is no "
                      "number; fetch it again",
                      folder, content));
    }
    AddedToken token;
    token.content = content;
    token.normalized = true;
    with_ids[*id.get_ptr<const int64_t*>()] = std::move(token);
  }
  const auto decoder = tokenizer.find("added_tokens_decoder");
  if (decoder != tokenizer.end() && decoder->is_object()) {
    for (const auto& [key, value] : decoder->items()) {
      AddedToken token;
      token.normalized = true;
      int64_t id = 0;
      for (const char c : key) {
        if (c < '0' || c > '9' || id > Vocabulary::MostIds()) {
          id = -1;
          break;
        }
        id = id * 10 + (c - '0');
      }
      if (id < 0 || !ReadAddedToken(value, &token)) {
        return absl::InvalidArgumentError(fmt::format(
            "{}: added_tokens_decoder: \"{}\" is not an id with a token, "
            "correct or remove it",
            path, key));
      }
      with_ids[id] = std::move(token);
    }
  }
  for (auto& [id, token] : with_ids) config.added_tokens.push_back(token);
  ReadSpecials(map, &config);
  ReadSpecials(tokenizer, &config);
  return config;
}

FolderConfig FolderConfig::Of(const nlohmann::json& tokenizer_config) {
  FolderConfig config;
  for (const auto& [name, value] : tokenizer_config.items()) {
    if (value.is_boolean()) config.flags[name] = *value.get_ptr<const bool*>();
  }
  ReadSpecials(tokenizer_config, &config);
  return config;
}

bool FolderConfig::Flag(const std::string& name, bool otherwise) const {
  const auto found = flags.find(name);
  return found == flags.end() ? otherwise : found->second;
}

std::string FolderConfig::Special(const std::string& role,
                                  const std::string& otherwise,
                                  bool left_strip) {
  const auto found = special_tokens.find(role);
  if (found != special_tokens.end()) {
    return found->second.content;
  }
  if (!otherwise.empty()) {
    AddedToken token;
    token.content = otherwise;
    token.special = true;
    token.left_strip = left_strip;
    special_tokens[role] = std::move(token);
    assumed.insert(role);
  }
  return otherwise;
}

void FolderConfig::AddSpecial(const std::string& content, bool in_texts) {
  for (AddedToken& token : added_tokens) {
    if (token.content != content) continue;
    token.special = true;
    return;
  }
  AddedToken token;
  token.content = content;
  token.special = true;
  token.in_texts = in_texts;
  added_tokens.push_back(std::move(token));
}

void FolderConfig::KeepKnown(const TokenModel& model) {
  for (const std::string& role : assumed) {
    const auto found = special_tokens.find(role);
    if (model.IdOf(found->second.content) < 0) special_tokens.erase(found);
  }
  assumed.clear();
}

std::vector<AddedToken> FolderConfig::AllTokens() const {
  std::vector<AddedToken> tokens = added_tokens;
  for (const auto& [role, special] : special_tokens) {
    const auto known = std::find_if(tokens.begin(), tokens.end(),
                                    [&special = special](const auto& token) {
                                      return token.content == special.content;
                                    });
    if (known == tokens.end()) {
      tokens.push_back(special);
    } else {
      known->special = true;
    }
  }
  return tokens;
}

SpecialTokenIds FolderConfig::Ids(const AddedTokens& added) const {
  const auto id_of = [&](const char* role) {
    const auto found = special_tokens.find(role);
    return found == special_tokens.end() ? -1
                                         : added.IdOf(found->second.content);
  };
  SpecialTokenIds ids;
  ids.begin = id_of("bos_token");
  ids.end = id_of("eos_token");
  ids.classification = id_of("cls_token");
  ids.separator = id_of("sep_token");
  ids.mask = id_of("mask_token");
  ids.padding = id_of("pad_token");
  ids.unknown = id_of("unk_token");
  return ids;
}

}  // namespace trivium
