#ifndef TRIVIUM_MODEL_LANGUAGES_H_
#define TRIVIUM_MODEL_LANGUAGES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The BCP 47 tag of a folder's own language code, the shortest one: "deu",
// ">>deu<<" and "de" give "de", "zho_Hans" gives "zh-Hans". Empty when the
// code names no single language ("mul", "ROMANCE").
std::string ToBcp47(std::string_view code);

// Which languages a model translates from and to, and how to tell it. Target
// languages are the vocabulary's >>xx<< tokens, put in front of the source;
// without such tokens the one direction that tokenizer_config.json names. Of
// several targets its "target_lang" is the one that callers may leave out,
// unless it is the source's own. A folder that names no "source_lang" but has
// several targets translates among these.
class LanguageTable {
 public:
  // Both may be null.
  LanguageTable(const Tokenizer* tokenizer,
                const nlohmann::json* tokenizer_config);

  const std::vector<Language>& sources() const { return sources_; }
  const std::vector<Language>& targets() const { return targets_; }

  // The target of calls that name none; null: they must.
  const Language* default_target() const {
    if (default_target_) return &targets_[*default_target_];
    return targets_.size() == 1 ? &targets_[0] : nullptr;
  }

  // See Model::ResolveDirection. A tag with more subtags than the model's
  // matches too ("de-AT" where the model has "de"; RFC 4647 lookup). Any
  // source is accepted where the folder's "source_lang" is a group ("mul").
  absl::StatusOr<Direction> Resolve(
      std::optional<std::string_view> source_language,
      std::optional<std::string_view> target_language) const;

 private:
  std::vector<Language> sources_;
  std::vector<Language> targets_;
  // The token of targets_[i]; empty where the model reads none.
  std::vector<int32_t> target_tokens_;
  std::optional<size_t> default_target_;
  bool open_sources_ = false;  // any, where sources_ is empty
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_LANGUAGES_H_
