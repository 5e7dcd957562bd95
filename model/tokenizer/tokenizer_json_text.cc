// The sections of tokenizer.json that work on text: normalizer and
// pre-tokenizer.

#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/json_fields.h"
#include "model/tokenizer/precompiled_normalizer.h"
#include "model/tokenizer/tokenizer_json.h"

namespace trivium {
namespace {

constexpr char kGpt2Words[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|)"
    R"(\s+)";

absl::Status Unknown(const char* section, const std::string& type) {
  return absl::UnimplementedError(
      fmt::format("{} \"{}\" is unknown to this version", section, type));
}

// Returns the array `name` of a sequence.
absl::StatusOr<const nlohmann::json*> Steps(const nlohmann::json& json,
                                            const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) {
    return absl::InvalidArgumentError(
        fmt::format("a sequence has no list \"{}\"", name));
  }
  return &*found;
}

absl::StatusOr<SplitBehavior> ReadBehavior(const nlohmann::json& json,
                                           const std::string& otherwise) {
  const std::string name = StringField(json, "behavior", otherwise);
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return absl::InvalidArgumentError(
      fmt::format("\"{}\" is not a behavior of a split", name));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pattern>> ReadPattern(
    const nlohmann::json& json) {
  if (json.is_object()) {
    const std::string text = StringField(json, "String", "");
    if (!text.empty()) return Pattern::Literal(text);
    const std::string expression = StringField(json, "Regex", "");
    if (expression == kGpt2Words) return Pattern::Gpt2Words();
    if (!expression.empty()) return Pattern::Regex(expression);
  }
  return absl::InvalidArgumentError(
      "a pattern is neither {\"String\": text} nor {\"Regex\": expression}");
}

absl::StatusOr<std::unique_ptr<Normalizer>> ReadNormalizer(
    const nlohmann::json& json) {
  if (json.is_null()) return std::unique_ptr<Normalizer>();
  const std::string type = StringField(json, "type", "");
  if (type == "Sequence") {
    TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json* list,
                             Steps(json, "normalizers"));
    std::vector<std::unique_ptr<Normalizer>> steps;
    for (const nlohmann::json& step : *list) {
      TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Normalizer> normalizer,
                               ReadNormalizer(step));
      if (normalizer != nullptr) steps.push_back(std::move(normalizer));
    }
    return MakeNormalizerSequence(std::move(steps));
  }
  if (type == "BertNormalizer") {
    const bool lower_case = BoolField(json, "lowercase", true);
    return MakeBertNormalizer(
        {.clean_text = BoolField(json, "clean_text", true),
         .space_chinese_chars = BoolField(json, "handle_chinese_chars", true),
         .strip_accents = BoolField(json, "strip_accents", lower_case),
         .lower_case = lower_case});
  }
  if (type == "Lowercase") return MakeLowerCase();
  if (type == "StripAccents") return MakeStripAccents();
  if (type == "Nmt") return MakeNmt();
  if (type == "Strip") {
    return MakeStrip(BoolField(json, "strip_left", true),
                     BoolField(json, "strip_right", true));
  }
  if (type == "Prepend") return MakePrepend(StringField(json, "prepend", ""));
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    return MakeUnicodeNormalizer(type.find('K') != std::string::npos
                                     ? DecompositionKind::kCompatible
                                     : DecompositionKind::kCanonical,
                                 type.ends_with('C'));
  }
  if (type == "Replace") {
    const auto pattern = json.find("pattern");
    TRIVIUM_ASSIGN_OR_RETURN(
        std::unique_ptr<Pattern> found,
        ReadPattern(pattern == json.end() ? nlohmann::json() : *pattern));
    return MakeReplace(std::move(found), StringField(json, "content", ""));
  }
  if (type == "Precompiled") {
    return MakePrecompiledFromBase64(
        StringField(json, "precompiled_charsmap", ""));
  }
  return Unknown("normalizer", type);
}

absl::StatusOr<std::unique_ptr<PreTokenizer>> ReadPreTokenizer(
    const nlohmann::json& json) {
  if (json.is_null()) return std::unique_ptr<PreTokenizer>();
  const std::string type = StringField(json, "type", "");
  if (type == "Sequence") {
    TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json* list,
                             Steps(json, "pretokenizers"));
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    for (const nlohmann::json& step : *list) {
      TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<PreTokenizer> pre_tokenizer,
                               ReadPreTokenizer(step));
      if (pre_tokenizer != nullptr) steps.push_back(std::move(pre_tokenizer));
    }
    return MakePreTokenizerSequence(std::move(steps));
  }
  if (type == "BertPreTokenizer") return MakeBertPreTokenizer();
  if (type == "WhitespaceSplit") return MakeWhitespaceSplit();
  if (type == "Whitespace") {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Pattern> words,
                             Pattern::Regex(R"(\w+|[^\w\s]+)"));
    return MakeSplit(std::move(words), SplitBehavior::kRemoved,
                     /*invert=*/true);
  }
  if (type == "ByteLevel") {
    return MakeByteLevel(
        {.add_prefix_space = BoolField(json, "add_prefix_space", true),
         .use_regex = BoolField(json, "use_regex", true)});
  }
  if (type == "Metaspace") {
    std::string scheme = StringField(json, "prepend_scheme", "always");
    if (!BoolField(json, "add_prefix_space", true)) scheme = "never";
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      return Unknown("prepend_scheme", scheme);
    }
    const std::string replacement = MetaspaceReplacement(json);
    if (replacement.empty()) {
      return absl::InvalidArgumentError(
          "Metaspace's replacement is not one character");
    }
    return MakeMetaspace(replacement,
                         scheme == "always"  ? PrependScheme::kAlways
                         : scheme == "first" ? PrependScheme::kFirst
                                             : PrependScheme::kNever,
                         BoolField(json, "split", true));
  }
  if (type == "Digits") {
    return MakeDigits(BoolField(json, "individual_digits", false));
  }
  if (type == "Punctuation") {
    TRIVIUM_ASSIGN_OR_RETURN(const SplitBehavior behavior,
                             ReadBehavior(json, "Isolated"));
    return MakePunctuation(behavior);
  }
  if (type == "Split") {
    TRIVIUM_ASSIGN_OR_RETURN(const SplitBehavior behavior,
                             ReadBehavior(json, ""));
    const auto pattern = json.find("pattern");
    TRIVIUM_ASSIGN_OR_RETURN(
        std::unique_ptr<Pattern> found,
        ReadPattern(pattern == json.end() ? nlohmann::json() : *pattern));
    return MakeSplit(std::move(found), behavior,
                     BoolField(json, "invert", false));
  }
  return Unknown("pre_tokenizer", type);
}

}  // namespace trivium
