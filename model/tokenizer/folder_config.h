#ifndef TRIVIUM_MODEL_TOKENIZER_FOLDER_CONFIG_H_
#define TRIVIUM_MODEL_TOKENIZER_FOLDER_CONFIG_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads the JSON object of a file; returns an empty one if there is no file.
absl::StatusOr<nlohmann::json> LoadObject(const std::string& path);

// The tokenizer's settings in a folder's small JSON files: tokenizer_class and
// model_type, switches, special and added tokens. The files are config.json,
// tokenizer_config.json, special_tokens_map.json and added_tokens.json; all of
// them may be missing.
struct FolderConfig {
  // "bert", "roberta", ...: config.json's name of the model, else the
  // tokenizer's class without "Tokenizer" and "Fast", in lower case. May be
  // empty.
  std::string family;
  // The tokenizer's class, written the same way; may be empty.
  std::string tokenizer_class;
  std::map<std::string, bool> flags;  // tokenizer_config.json's booleans
  std::string source_language;        // its src_lang; may be empty
  // Its language_codes, for M2M-100: "wmt21"; may be empty.
  std::string language_codes;
  // By role: "cls_token", "mask_token", ...
  std::map<std::string, AddedToken> special_tokens;
  // Tokens with ids of their own, ascending, then additional special tokens.
  std::vector<AddedToken> added_tokens;
  std::set<std::string> assumed;  // roles that Special() filled in
  // Number of pieces <extra_id_N> that T5's tokenizer adds.
  int extra_ids = 100;

  static absl::StatusOr<FolderConfig> Load(const std::string& folder);
  // Reads the flags and special tokens of a tokenizer_config.json alone.
  static FolderConfig Of(const nlohmann::json& tokenizer_config);

  bool Flag(const std::string& name, bool otherwise) const;
  // Returns the text of a special token. If the folder names none, the token
  // becomes `otherwise`; if that is empty, the role stays without a token.
  std::string Special(const std::string& role, const std::string& otherwise,
                      bool left_strip = false);
  // Adds a special token, or marks it special if it has been added already.
  void AddSpecial(const std::string& content, bool in_texts = true);
  // Removes special tokens that Special() assumed and the model lacks: new ids
  // would lie beyond the model's embeddings.
  void KeepKnown(const TokenModel& model);
  // Returns all tokens for the pipeline: added ones, then special ones.
  std::vector<AddedToken> AllTokens() const;
  // Returns the ids of the special tokens.
  SpecialTokenIds Ids(const AddedTokens& added) const;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_FOLDER_CONFIG_H_
