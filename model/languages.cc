#include "model/languages.h"

#include <fmt/format.h>
#include <unicode/uloc.h>

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

constexpr size_t kLongestTag = 64;

// ">>deu<<" -> "deu"; other text as it is.
std::string_view BareCode(std::string_view code) {
  if (code.size() > 4 && code.substr(0, 2) == ">>" &&
      code.substr(code.size() - 2) == "<<") {
    return code.substr(2, code.size() - 4);
  }
  return code;
}

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

bool IsLanguageToken(std::string_view piece) {
  const std::string_view code = BareCode(piece);
  return code.size() < piece.size() &&
         std::all_of(code.begin(), code.end(), [](char c) {
           return IsAlphanumeric(c) || c == '_' || c == '-';
         });
}

std::optional<size_t> FindTag(const std::vector<Language>& languages,
                              std::string_view tag) {
  for (size_t i = 0; i < languages.size(); ++i) {
    if (!tag.empty() && languages[i].bcp47 == tag) return i;
  }
  return std::nullopt;
}

std::optional<size_t> FindLanguage(const std::vector<Language>& languages,
                                   std::string_view name) {
  for (size_t i = 0; i < languages.size(); ++i) {
    if (languages[i].code == name || BareCode(languages[i].code) == name) {
      return i;
    }
  }
  std::string tag = ToBcp47(name);
  while (!tag.empty()) {
    const std::optional<size_t> found = FindTag(languages, tag);
    if (found) return found;
    const size_t dash = tag.rfind('-');
    tag.resize(dash == tag.npos ? 0 : dash);
  }
  return std::nullopt;
}

std::string Choices(const std::vector<Language>& languages) {
  std::string choices;
  for (const Language& language : languages) {
    if (!choices.empty()) choices += ", ";
    choices += language.bcp47.empty() ? language.code : language.bcp47;
  }
  return choices;
}

// A caller's text in an error message.
std::string Shown(std::string_view name) {
  return name.size() <= kLongestTag
             ? std::string(name)
             : std::string(name.substr(0, kLongestTag)) + "...";
}

absl::StatusOr<size_t> Choose(const std::vector<Language>& languages,
                              std::string_view what, std::string_view name) {
  const std::optional<size_t> found = FindLanguage(languages, name);
  if (found) return *found;
  return absl::InvalidArgumentError(
      fmt::format("{} '{}' is not one of this model's: {}", what, Shown(name),
                  Choices(languages)));
}

void AddFromConfig(const nlohmann::json& config, const char* key,
                   std::vector<Language>* languages) {
  const auto value = config.find(key);
  if (value == config.end() || !value->is_string()) return;
  const std::string& code = value->get_ref<const std::string&>();
  const std::string tag = ToBcp47(code);
  if (!tag.empty()) languages->push_back({tag, code});
}

}  // namespace

std::string ToBcp47(std::string_view code) {
  const std::string bare(BareCode(code));
  const size_t language =
      std::find_if_not(bare.begin(), bare.end(), IsAlphanumeric) - bare.begin();
  if (language < 2 || language > 3 || bare.size() > kLongestTag ||
      bare.find('\0') != bare.npos) {
    return "";
  }
  char tag[2 * kLongestTag];
  UErrorCode error = U_ZERO_ERROR;
  const int32_t size = uloc_toLanguageTag(bare.c_str(), tag, sizeof(tag),
                                          /*strict=*/true, &error);
  if (U_FAILURE(error) || size >= static_cast<int32_t>(sizeof(tag))) return "";
  const std::string result(tag, size);
  for (const std::string_view none : {"und", "mul", "mis", "zxx"}) {
    if (result.substr(0, 3) == none) return "";
  }
  return result;
}

LanguageTable::LanguageTable(const Tokenizer* tokenizer,
                             const nlohmann::json* tokenizer_config) {
  const int vocabulary =
      tokenizer == nullptr ? 0 : tokenizer->vocabulary_size(TextSide::kSource);
  for (int32_t id = 0; id < vocabulary; ++id) {
    const std::string piece = tokenizer->IdToPiece(id, TextSide::kSource);
    if (!IsLanguageToken(piece)) continue;
    targets_.push_back({ToBcp47(piece), piece});
    target_tokens_.push_back(id);
  }
  const bool names_source =
      tokenizer_config != nullptr && tokenizer_config->contains("source_lang");
  if (!names_source && targets_.size() > 1) sources_ = targets_;
  open_sources_ = names_source;
  if (tokenizer_config == nullptr) return;
  AddFromConfig(*tokenizer_config, "source_lang", &sources_);
  std::vector<Language> named;
  AddFromConfig(*tokenizer_config, "target_lang", &named);
  if (targets_.empty()) {
    targets_ = std::move(named);
  } else if (!named.empty()) {
    default_target_ = FindLanguage(targets_, named[0].code);
  }
}

absl::StatusOr<Direction> LanguageTable::Resolve(
    std::optional<std::string_view> source_language,
    std::optional<std::string_view> target_language) const {
  if (source_language && !sources_.empty()) {
    TRIVIUM_RETURN_IF_ERROR(
        Choose(sources_, "source_language", *source_language).status());
  } else if (source_language && !open_sources_) {
    return absl::InvalidArgumentError(
        fmt::format("source_language '{}' cannot be chosen: the model does not "
                    "name its languages; leave source_language out",
                    Shown(*source_language)));
  }
  size_t target = 0;
  if (target_language) {
    if (targets_.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("target_language '{}' cannot be chosen: the model does "
                      "not name its languages; leave target_language out",
                      Shown(*target_language)));
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        target, Choose(targets_, "target_language", *target_language));
  } else if (default_target_ &&
             !(source_language &&
               FindLanguage(targets_, *source_language) == default_target_)) {
    target = *default_target_;
  } else if (targets_.size() > 1) {
    return absl::InvalidArgumentError(
        fmt::format("target_language is missing; this model translates to {}",
                    Choices(targets_)));
  }
  Direction direction;
  if (!target_tokens_.empty()) direction.prefix_ids = {target_tokens_[target]};
  return direction;
}

}  // namespace trivium
