#include "model/tokenizer/tokenizer_config.h"

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/folder_config.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

// Reads a special token: a string, or {"content": string}.
std::optional<std::string> SpecialToken(const nlohmann::json& config,
                                        const char* name) {
  auto found = config.find(name);
  if (found == config.end()) return std::nullopt;
  if (found->is_object()) {
    const auto content = found->find("content");
    if (content == found->end()) return std::nullopt;
    found = content;
  }
  if (!found->is_string()) return std::nullopt;
  return *found->get_ptr<const std::string*>();
}

absl::StatusOr<std::optional<bool>> Flag(const std::string& path,
                                         const nlohmann::json& config,
                                         const char* name) {
  const auto found = config.find(name);
  if (found == config.end() || found->is_null()) {
    return std::optional<bool>();
  }
  if (!found->is_boolean()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: {} is neither true nor false; correct or remove it", path, name));
  }
  return std::optional<bool>(*found->get_ptr<const bool*>());
}

}  // namespace

absl::StatusOr<TokenizerConfig> TokenizerConfig::Load(
    const std::string& folder) {
  TokenizerConfig config;
  const std::string path = folder + "/tokenizer_config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json json, LoadObject(path));
  config.end = SpecialToken(json, "eos_token");
  config.unknown = SpecialToken(json, "unk_token");
  config.padding = SpecialToken(json, "pad_token");
  TRIVIUM_ASSIGN_OR_RETURN(config.separate_vocabularies,
                           Flag(path, json, "separate_vocabs"));
  TRIVIUM_ASSIGN_OR_RETURN(config.clean_up_spaces,
                           Flag(path, json, "clean_up_tokenization_spaces"));
  return config;
}

}  // namespace trivium
