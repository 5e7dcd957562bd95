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

// A file's JSON object; an empty one when there is no such file.
absl::StatusOr<nlohmann::json> LoadObject(const std::string& path);

// What a folder's small JSON files say about its tokenizer: the tokenizer_class
// and model_type, switches, special and added tokens. From config.json,
// tokenizer_config.json, special_tokens_map.json and added_tokens.json, all of
// which may be missing.
struct FolderConfig {
  // "bert", "roberta", ...: what config.json calls the model, or else the
  // tokenizer's class without "Tokenizer" and "Fast"; lower case. May be empty.
  std::string family;
  // The tokenizer's class alone, written so; may be empty.
  std::string tokenizer_class;
  std::map<std::string, bool> flags;  // of tokenizer_config.json
  std::string source_language;        // src_lang there; may be empty
  std::string language_codes;         // M2M-100's there: "wmt21"; may be empty
  // By role: "cls_token", "mask_token", ...
  std::map<std::string, AddedToken> special_tokens;
  // Those with ids of their own, ascending, then additional special tokens.
  std::vector<AddedToken> added_tokens;
  std::set<std::string> assumed;  // roles that Special() filled
  // How many pieces <extra_id_N> T5's tokenizer adds.
  int extra_ids = 100;

  static absl::StatusOr<FolderConfig> Load(const std::string& folder);
  // What tokenizer_config.json alone says of flags and special tokens.
  static FolderConfig Of(const nlohmann::json& tokenizer_config);

  bool Flag(const std::string& name, bool otherwise) const;
  // The text of a special token, which becomes `otherwise` where the folder
  // names none. `otherwise` empty: stays without.
  std::string Special(const std::string& role, const std::string& otherwise,
                      bool left_strip = false);
  // One more special token, unless it is one already.
  void AddSpecial(const std::string& content, bool in_texts = true);
  // Forgets special tokens that Special() assumed and the model lacks: ids of
  // their own would be beyond its embeddings.
  void KeepKnown(const TokenModel& model);
  // All of them for the pipeline: added ones, then special ones.
  std::vector<AddedToken> AllTokens() const;
  // The ids of the special ones among all tokens of the tokenizer.
  SpecialTokenIds Ids(const AddedTokens& added) const;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_FOLDER_CONFIG_H_
