#ifndef TRIVIUM_MODEL_TOKENIZER_JSON_FIELDS_H_
#define TRIVIUM_MODEL_TOKENIZER_JSON_FIELDS_H_

#include <string>

#include "base/utf8.h"
#include "model/tokenizer/added_tokens.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Returns a field of a JSON object, or `otherwise` if it is missing or of
// another kind.
inline bool BoolField(const nlohmann::json& json, const char* name,
                      bool otherwise) {
  if (!json.is_object()) return otherwise;
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean()
             ? *found->get_ptr<const bool*>()
             : otherwise;
}

// Returns a field of an object, or null if there is none.
inline const nlohmann::json& Field(const nlohmann::json& json,
                                   const char* name) {
  static const nlohmann::json* const kNull = new nlohmann::json;
  if (!json.is_object()) return *kNull;
  const auto found = json.find(name);
  return found == json.end() ? *kNull : *found;
}

inline std::string StringField(const nlohmann::json& json, const char* name,
                               const std::string& otherwise) {
  if (!json.is_object()) return otherwise;
  const auto found = json.find(name);
  return found != json.end() && found->is_string()
             ? *found->get_ptr<const std::string*>()
             : otherwise;
}

// Returns a whole number from 0 to `most`.
inline int64_t IntegerField(const nlohmann::json& json, const char* name,
                            int64_t otherwise, int64_t most) {
  if (!json.is_object()) return otherwise;
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned()) return otherwise;
  const uint64_t value = *found->get_ptr<const uint64_t*>();
  return value <= static_cast<uint64_t>(most) ? static_cast<int64_t>(value)
                                              : otherwise;
}

// Returns Metaspace's "replacement", U+2581 if it is missing; empty unless it
// is one character.
inline std::string MetaspaceReplacement(const nlohmann::json& json) {
  const std::string text = StringField(json, "replacement", "\xE2\x96\x81");
  return !text.empty() && FirstCodePoint(text).size == text.size() ? text : "";
}

// Reads {"content": string, "lstrip": bool, ...}; missing fields stay as they
// are. False if it is no such object.
inline bool ReadAddedToken(const nlohmann::json& json, AddedToken* token) {
  if (!json.is_object()) return false;
  const auto content = json.find("content");
  if (content == json.end() || !content->is_string()) return false;
  token->content = *content->get_ptr<const std::string*>();
  token->single_word = BoolField(json, "single_word", token->single_word);
  token->left_strip = BoolField(json, "lstrip", token->left_strip);
  token->right_strip = BoolField(json, "rstrip", token->right_strip);
  token->normalized = BoolField(json, "normalized", token->normalized);
  token->special = BoolField(json, "special", token->special);
  return true;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_JSON_FIELDS_H_
