#include "model/language_conventions.h"

#include <algorithm>
#include <optional>

namespace trivium {
namespace {

using Source = LanguageConvention::Source;
using Target = LanguageConvention::Target;
using Form = LanguageConvention::Form;

// Conventions of a family, the more specific ones first.
constexpr LanguageConvention kConventions[] = {
    {"marian", "", ">>", "<<", Form::kAny, false, Source::kUntold,
     Target::kBefore},
    {"mbart", "MBart50", "", "", Form::kRegion, true, Source::kBefore,
     Target::kForced},
    {"mbart", "", "", "", Form::kRegion, true, Source::kBehind, Target::kStart},
    {"m2m_100", "SMALL100", "__", "__", Form::kAny, true, Source::kUntold,
     Target::kBefore},
    {"m2m_100", "", "__", "__", Form::kAny, true, Source::kBefore,
     Target::kForced},
    {"m2m_100", "", "", "", Form::kScript, true, Source::kBefore,
     Target::kForced},
    {"t5", "", "<2", ">", Form::kAny, false, Source::kUntold, Target::kText},
    {"mt5", "", "<2", ">", Form::kAny, false, Source::kUntold, Target::kText},
};

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

bool HasForm(std::string_view code, Form form) {
  if (form == Form::kAny) {
    return !code.empty() && std::all_of(code.begin(), code.end(), [](char c) {
      return IsLower(c) || IsUpper(c) || (c >= '0' && c <= '9') || c == '_' ||
             c == '-';
    });
  }
  const size_t language = std::min(code.find('_'), code.size());
  if (language < 2 || language > 3 || language == code.size() ||
      !std::all_of(code.begin(), code.begin() + language, IsLower)) {
    return false;
  }
  const std::string_view rest = code.substr(language + 1);
  if (form == Form::kRegion) {
    return rest.size() == 2 && std::all_of(rest.begin(), rest.end(), IsUpper);
  }
  return rest.size() == 4 && IsUpper(rest[0]) &&
         std::all_of(rest.begin() + 1, rest.end(), IsLower);
}

// True if the tokenizer finds the piece in its own text, or leaves it out of
// decoded text: a token that only the model may write.
bool IsItsOwnToken(const Tokenizer& tokenizer, const std::string& piece,
                   int32_t id) {
  if (tokenizer.Decode({&id, 1}).empty()) return true;
  const auto encoding = tokenizer.Encode(piece, {.add_special_tokens = false});
  return encoding.ok() && encoding->ids == std::vector<int32_t>{id};
}

void AddTokens(const Tokenizer& tokenizer, LanguageTokens* tokens) {
  const LanguageConvention& convention = tokens->convention;
  const std::string_view open = convention.open;
  const std::string_view close = convention.close;
  const int vocabulary = tokenizer.vocabulary_size(TextSide::kSource);
  for (int32_t id = 0; id < vocabulary; ++id) {
    const std::string piece = tokenizer.IdToPiece(id, TextSide::kSource);
    const std::string_view view = piece;
    if (view.size() <= open.size() + close.size() || !view.starts_with(open) ||
        !view.ends_with(close)) {
      continue;
    }
    std::string_view code = view.substr(open.size());
    code.remove_suffix(close.size());
    if (!HasForm(code, convention.form)) continue;
    if (convention.added && !IsItsOwnToken(tokenizer, piece, id)) continue;
    if (convention.form == Form::kRegion) code = code.substr(0, code.find('_'));
    tokens->codes.push_back({piece, std::string(code)});
    tokens->ids.push_back(id);
  }
}

// Returns the class that either file names.
std::string TokenizerClass(const nlohmann::json* config,
                           const nlohmann::json* tokenizer_config) {
  for (const nlohmann::json* json : {tokenizer_config, config}) {
    if (json == nullptr || !json->is_object()) continue;
    const auto found = json->find("tokenizer_class");
    if (found != json->end() && found->is_string()) {
      return found->get<std::string>();
    }
  }
  return "";
}

// True for the classes of tokenizer.json's own reader, which say nothing about
// languages.
bool IsAnyTokenizer(std::string_view tokenizer_class) {
  return tokenizer_class == "TokenizersBackend" ||
         tokenizer_class == "PreTrainedTokenizerFast";
}

// Returns where the tokenizer itself puts the token of a language, or nullopt
// if it puts none.
std::optional<Source> SourceOf(const Tokenizer& tokenizer,
                               const std::vector<int32_t>& languages) {
  const auto encoding = tokenizer.Encode("", {});
  if (!encoding.ok() || encoding->ids.empty()) return std::nullopt;
  const auto is_language = [&](int32_t id) {
    return std::find(languages.begin(), languages.end(), id) != languages.end();
  };
  if (is_language(encoding->ids.front())) return Source::kBefore;
  if (is_language(encoding->ids.back())) return Source::kBehind;
  return std::nullopt;
}

}  // namespace

LanguageTokens LanguageTokens::Find(const Tokenizer& tokenizer,
                                    std::string_view family,
                                    const nlohmann::json* config,
                                    const nlohmann::json* tokenizer_config) {
  const std::string tokenizer_class = TokenizerClass(config, tokenizer_config);
  const bool any = IsAnyTokenizer(tokenizer_class);
  for (const LanguageConvention& convention : kConventions) {
    if (convention.family != family ||
        (!any && !tokenizer_class.starts_with(convention.tokenizer_class))) {
      continue;
    }
    LanguageTokens tokens = {.convention = convention};
    AddTokens(tokenizer, &tokens);
    if (tokens.codes.empty()) continue;
    // Without a class the tokenizer's own template tells mBART-50 from mBART,
    // and the two versions of NLLB.
    if (any && !convention.tokenizer_class.empty() &&
        SourceOf(tokenizer, tokens.ids) != convention.source) {
      continue;
    }
    if (any && convention.form == Form::kScript) {
      tokens.convention.source =
          SourceOf(tokenizer, tokens.ids).value_or(convention.source);
    }
    // NLLB's first version, which some folders ask for.
    if (convention.form == Form::kScript && tokenizer_config != nullptr &&
        tokenizer_config->is_object() &&
        tokenizer_config->value("legacy_behaviour", nlohmann::json()) == true) {
      tokens.convention.source = Source::kBehind;
    }
    return tokens;
  }
  return {};
}

}  // namespace trivium
