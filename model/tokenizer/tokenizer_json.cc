#include "model/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/json_fields.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

absl::StatusOr<TokenizerParts> ReadParts(const nlohmann::json& json) {
  const auto section = [&json](const char* name) -> const nlohmann::json& {
    static const nlohmann::json* const kNull = new nlohmann::json;
    const auto found = json.find(name);
    return found == json.end() ? *kNull : *found;
  };
  TokenizerParts parts;
  TRIVIUM_ASSIGN_OR_RETURN(parts.normalizer,
                           ReadNormalizer(section("normalizer")));
  TRIVIUM_ASSIGN_OR_RETURN(parts.pre_tokenizer,
                           ReadPreTokenizer(section("pre_tokenizer")));
  TRIVIUM_ASSIGN_OR_RETURN(parts.model, ReadTokenModel(section("model")));
  TRIVIUM_ASSIGN_OR_RETURN(parts.post_processor,
                           ReadPostProcessor(section("post_processor")));
  TRIVIUM_ASSIGN_OR_RETURN(parts.decoder, ReadDecoder(section("decoder")));
  const nlohmann::json& added = section("added_tokens");
  if (added.is_null()) return parts;
  if (!added.is_array()) {
    return absl::InvalidArgumentError("added_tokens is not a list");
  }
  for (const nlohmann::json& entry : added) {
    AddedToken token;
    if (!ReadAddedToken(entry, &token)) {
      return absl::InvalidArgumentError(fmt::format(
          "added token {} has no content", parts.added_tokens.size()));
    }
    parts.added_tokens.push_back(std::move(token));
  }
  return parts;
}

}  // namespace

absl::StatusOr<TokenizerParts> LoadTokenizerJson(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  TRIVIUM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  const nlohmann::json json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        path + " is not a JSON object, download it again");
  }
  absl::StatusOr<TokenizerParts> parts = ReadParts(json);
  if (!parts.ok()) {
    return absl::Status(
        parts.status().code(),
        fmt::format("{}: {}; without the tokenizer's files the model serves "
                    "token ids",
                    path, std::string(parts.status().message())));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const FolderConfig config,
                           FolderConfig::Load(folder));
  // What the other files add; of tokens that both have, tokenizer.json's.
  for (const AddedToken& token : config.AllTokens()) {
    if (std::none_of(parts->added_tokens.begin(), parts->added_tokens.end(),
                     [&](const auto& known) {
                       return known.content == token.content;
                     })) {
      parts->added_tokens.push_back(token);
    }
  }
  const AddedTokens added(parts->added_tokens, *parts->model, nullptr);
  parts->special_ids = config.Ids(added);
  parts->clean_up_spaces = config.Flag("clean_up_tokenization_spaces", false);
  return parts;
}

}  // namespace trivium
