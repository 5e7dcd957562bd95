#include "model/tokenizer/tokenizer_json.h"

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "base/json.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/json_fields.h"
#include "model/tokenizer/tokenizer_files.h"

namespace trivium {
namespace {

// Far more than the sections' steps have in any published file. A step may take
// long and an expression may need much memory, so both are bounded.
constexpr size_t kMaxStepValues = 10'000;
constexpr size_t kMaxAllExpressionBytes = 32 << 10;

// Counts the values and the bytes of regular expressions in a section.
void CountSteps(const nlohmann::json& json, size_t* values,
                size_t* expressions) {
  *values += json.size();
  for (const auto& [name, value] : json.items()) {
    if (value.is_structured()) CountSteps(value, values, expressions);
    if (json.is_object() && name == "Regex" && value.is_string()) {
      *expressions += value.get_ptr<const std::string*>()->size();
    }
  }
}

absl::StatusOr<TokenizerParts> ReadParts(nlohmann::json json) {
  // Returns null if the section is missing.
  const auto section = [&json](const char* name) -> nlohmann::json& {
    return json[name];
  };
  size_t values = 0;
  size_t expressions = 0;
  for (const char* name :
       {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    if (section(name).is_structured()) {
      CountSteps(section(name), &values, &expressions);
    }
  }
  if (values > kMaxStepValues || expressions > kMaxAllExpressionBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "normalizer, pre_tokenizer, post_processor and decoder have {} values "
        "and {} bytes of regular expressions, and at most {} and {} are read",
        values, expressions, kMaxStepValues, kMaxAllExpressionBytes));
  }
  TokenizerParts parts;
  TRIVIUM_ASSIGN_OR_RETURN(parts.normalizer,
                           ReadNormalizer(section("normalizer")));
  TRIVIUM_ASSIGN_OR_RETURN(parts.pre_tokenizer,
                           ReadPreTokenizer(section("pre_tokenizer")));
  TRIVIUM_ASSIGN_OR_RETURN(parts.model,
                           ReadTokenModel(std::move(section("model"))));
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

// True if Transformers makes a new template from tokenizer_config.json. It does
// so for these classes; for others, if the file asks for a token and the
// post-processor adds none (DeepSeek's, OPT's).
bool MakesTemplate(const FolderConfig& config, const PostProcessor& present) {
  if (!config.flags.contains("add_bos_token") &&
      !config.flags.contains("add_eos_token")) {
    return false;
  }
  for (const char* name : {"llama", "codellama", "gemma", "cohere"}) {
    if (config.tokenizer_class == name) return true;
  }
  return (config.Flag("add_bos_token", false) ||
          config.Flag("add_eos_token", false)) &&
         present.special_token_count(/*pair=*/false) == 0;
}

// Sets "<s> $A </s>" and "<s> $A </s> <s> $B </s>", with the tokens that the
// folder names.
void SetBeginAndEnd(const FolderConfig& config, const SpecialTokenIds& ids,
                    PostProcessor* processor) {
  using Item = PostProcessor::Item;
  PostProcessor::Template single;
  PostProcessor::Template pair;
  const auto add = [&](const char* flag, bool otherwise, const char* role,
                       int32_t id, int type_id) {
    if (id < 0 || !config.Flag(flag, otherwise)) return;
    const Item item = {Item::Kind::kSpecial, type_id, id,
                       config.special_tokens.at(role).content};
    if (type_id == 0) single.push_back(item);
    pair.push_back(item);
  };
  add("add_bos_token", true, "bos_token", ids.begin, 0);
  single.push_back({Item::Kind::kFirst, 0, 0, ""});
  pair.push_back(single.back());
  add("add_eos_token", false, "eos_token", ids.end, 0);
  add("add_bos_token", true, "bos_token", ids.begin, 1);
  pair.push_back({Item::Kind::kSecond, 1, 0, ""});
  add("add_eos_token", false, "eos_token", ids.end, 1);
  processor->set_templates(std::move(single), std::move(pair));
}

// Adds the tokens of the other files; tokenizer.json wins for tokens in both.
void AddConfig(const FolderConfig& config, TokenizerParts* parts) {
  std::set<std::string> known;
  for (const AddedToken& token : parts->added_tokens) {
    known.insert(token.content);
  }
  for (const AddedToken& token : config.AllTokens()) {
    if (known.insert(token.content).second) {
      parts->added_tokens.push_back(token);
    }
  }
  // A token with a role is never made of a user's text, whatever its flags say.
  for (AddedToken& token : parts->added_tokens) {
    for (const auto& [role, special] : config.special_tokens) {
      if (special.content == token.content) token.control = true;
    }
  }
  const AddedTokens added(parts->added_tokens, *parts->model, nullptr);
  parts->special_ids = config.Ids(added);
  if (MakesTemplate(config, parts->post_processor)) {
    SetBeginAndEnd(config, parts->special_ids, &parts->post_processor);
  }
  parts->clean_up_spaces = config.Flag("clean_up_tokenization_spaces", false);
}

}  // namespace

absl::StatusOr<TokenizerParts> LoadTokenizerJson(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  TRIVIUM_ASSIGN_OR_RETURN(nlohmann::json json,
                           ReadJsonFile(path, kTokenizerJson));
  absl::StatusOr<TokenizerParts> parts = ReadParts(std::move(json));
  if (!parts.ok()) {
    return absl::Status(
        parts.status().code(),
        fmt::format("{}: {}; without the tokenizer's files the model serves "
                    "token ids",
                    path, std::string(parts.status().message())));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const FolderConfig config,
                           FolderConfig::Load(folder));
  AddConfig(config, &*parts);
  return parts;
}

absl::StatusOr<TokenizerParts> ReadTokenizerJson(
    nlohmann::json json, const nlohmann::json& tokenizer_config) {
  TRIVIUM_ASSIGN_OR_RETURN(TokenizerParts parts, ReadParts(std::move(json)));
  AddConfig(FolderConfig::Of(tokenizer_config), &parts);
  return parts;
}

}  // namespace trivium
