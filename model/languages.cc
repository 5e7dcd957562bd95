// Resolving a call: first the source and the target become indices (by name, by
// default, or the only one), then the direction is told the way that the model
// knows. Models with language tokens get the ids or the text prefix of their
// convention; models with tasks get the task of the pair, which must exist. A
// model with neither translates in its one direction, whose languages are only
// names. Without languages, a model with tasks gets an empty direction.
#include "model/languages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "model/translator_prompts.h"

namespace trivium {
namespace {

using Source = LanguageConvention::Source;
using Target = LanguageConvention::Target;

constexpr size_t kMostShown = 64;

// Shortens a caller's text for an error message.
std::string Shown(std::string_view name) {
  return name.size() <= kMostShown
             ? std::string(name)
             : std::string(name.substr(0, kMostShown)) + "...";
}

absl::StatusOr<size_t> Choose(const LanguageNames& languages,
                              std::string_view what, std::string_view name) {
  const std::optional<size_t> found = languages.Find(name);
  if (found) return *found;
  return absl::InvalidArgumentError(
      fmt::format("{} '{}' is not one of this model's: {}", what, Shown(name),
                  languages.Choices(name)));
}

// Returns an empty string if the key holds no string.
std::string StringOf(const nlohmann::json* config, const char* key) {
  if (config == nullptr || !config->is_object()) return "";
  const auto found = config->find(key);
  if (found == config->end() || !found->is_string()) return "";
  return found->get<std::string>();
}

// Returns no language if the code names no single one.
LanguageNames OneLanguage(const std::string& code) {
  std::vector<LanguageNames::Code> codes;
  if (!ToBcp47(code).empty()) codes.push_back({code, code});
  return LanguageNames(codes);
}

}  // namespace

LanguageTable::LanguageTable(const Folder& folder) {
  if (folder.prompt != nullptr) {
    ReadPrompt(*folder.prompt);
    return;
  }
  if (folder.tokenizer != nullptr) ReadTokens(folder);
  if (!tokens_.codes.empty()) {
    ReadTokenDefaults(folder);
    return;
  }
  if (folder.generation != nullptr) ReadTasks(folder.generation->tasks);
  if (tasks_.empty()) ReadNamedDirection(folder.tokenizer_config);
}

void LanguageTable::ReadPrompt(const TranslatorPrompt& prompt) {
  prompt_ = &prompt;
  std::vector<LanguageNames::Code> codes;
  for (const PromptLanguage& language : prompt.languages) {
    codes.push_back({std::string(language.name), std::string(language.tag)});
  }
  sources_ = targets_ = LanguageNames(codes);
}

void LanguageTable::ReadTokenDefaults(const Folder& folder) {
  const nlohmann::json* config = folder.tokenizer_config;
  targets_ = LanguageNames(tokens_.codes);
  const std::string source = StringOf(config, "source_lang");
  if (tokens_.convention.source != Source::kUntold) {
    sources_ = targets_;
    default_source_ = sources_.Find(StringOf(config, "src_lang"));
  } else if (!source.empty()) {
    open_sources_ = true;
    sources_ = OneLanguage(source);
  } else if (targets_.languages().size() > 1) {
    sources_ = targets_;
  }
  // The token that the decoder begins with anyway.
  std::optional<int32_t> first;
  if (const GenerationConfig* generation = folder.generation) {
    const std::vector<int32_t>& start = generation->decoder_prefix;
    if (tokens_.convention.target == Target::kForced) {
      first = generation->options.forced_first_id;
    } else if (tokens_.convention.target == Target::kStart && !start.empty()) {
      first = start.front();
    }
  }
  const auto found = std::find(tokens_.ids.begin(), tokens_.ids.end(), first);
  if (found != tokens_.ids.end()) {
    default_target_ = found - tokens_.ids.begin();
  }
  for (const char* key : {"target_lang", "tgt_lang"}) {
    if (default_target_) break;
    default_target_ = targets_.Find(StringOf(config, key));
  }
}

void LanguageTable::ReadTokens(const Folder& folder) {
  tokens_ = LanguageTokens::Find(*folder.tokenizer, folder.family,
                                 folder.config, folder.tokenizer_config);
  end_id_ = folder.tokenizer->special_token_ids().end;
  if (end_id_ < 0) {
    end_id_ = folder.tokenizer->PieceToId("</s>", TextSide::kSource);
  }
}

void LanguageTable::ReadTasks(const std::vector<Task>& tasks) {
  std::vector<LanguageNames::Code> sources, targets;
  const auto index = [](std::string_view code,
                        std::vector<LanguageNames::Code>* codes) {
    const auto found =
        std::find_if(codes->begin(), codes->end(),
                     [code](const auto& known) { return known.bare == code; });
    const size_t at = found - codes->begin();
    if (found == codes->end()) {
      codes->push_back({std::string(code), std::string(code)});
    }
    return at;
  };
  for (const Task& task : tasks) {
    const auto codes = CodesOfTask(task.name);
    if (!codes) continue;
    tasks_.push_back({index(codes->source, &sources),
                      index(codes->target, &targets), &task});
  }
  sources_ = LanguageNames(sources);
  targets_ = LanguageNames(targets);
}

void LanguageTable::ReadNamedDirection(const nlohmann::json* config) {
  open_sources_ = config != nullptr && config->is_object() &&
                  config->contains("source_lang");
  sources_ = OneLanguage(StringOf(config, "source_lang"));
  targets_ = OneLanguage(StringOf(config, "target_lang"));
}

absl::StatusOr<std::optional<size_t>> LanguageTable::ResolveSource(
    std::optional<std::string_view> name) const {
  if (name && !sources().empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(const size_t source,
                             Choose(sources_, "source_language", *name));
    return std::optional<size_t>(source);
  }
  if (name && !open_sources_) {
    return absl::InvalidArgumentError(
        fmt::format("source_language '{}' cannot be chosen: the model does not "
                    "name its languages; leave source_language out",
                    Shown(*name)));
  }
  return name ? std::nullopt : default_source_;
}

absl::StatusOr<size_t> LanguageTable::ResolveTarget(
    std::optional<std::string_view> source_name,
    std::optional<std::string_view> name) const {
  if (name && targets().empty()) {
    return absl::InvalidArgumentError(
        fmt::format("target_language '{}' cannot be chosen: the model does "
                    "not name its languages; leave target_language out",
                    Shown(*name)));
  }
  if (name) return Choose(targets_, "target_language", *name);
  if (default_target_ &&
      !(source_name && targets_.Find(*source_name) == default_target_)) {
    return *default_target_;
  }
  if (targets().size() > 1) {
    return absl::InvalidArgumentError(
        fmt::format("target_language is missing; this model translates to {}",
                    targets_.Choices("")));
  }
  return size_t{0};
}

absl::Status LanguageTable::TellTokens(std::optional<size_t> source,
                                       size_t target,
                                       Direction* direction) const {
  const LanguageConvention& convention = tokens_.convention;
  if (convention.source != Source::kUntold) {
    if (!source) {
      return absl::InvalidArgumentError(fmt::format(
          "source_language is missing; this model translates from {}",
          sources_.Choices("")));
    }
    const int32_t id = tokens_.ids[*source];
    direction->add_special_tokens = false;
    direction->suffix_ids = {end_id_};
    if (convention.source == Source::kBefore) direction->prefix_ids = {id};
    if (convention.source == Source::kBehind) {
      direction->suffix_ids.push_back(id);
    }
  }
  const int32_t id = tokens_.ids[target];
  switch (convention.target) {
    case Target::kBefore:
      direction->prefix_ids.push_back(id);
      break;
    case Target::kText:
      direction->text_prefix = tokens_.codes[target].code + " ";
      break;
    case Target::kForced:
      direction->forced_first_id = id;
      break;
    case Target::kStart:
      direction->start_id = id;
      break;
  }
  return absl::OkStatus();
}

absl::Status LanguageTable::TellTask(std::optional<size_t> source,
                                     size_t target,
                                     Direction* direction) const {
  std::string others;
  for (const TaskPair& pair : tasks_) {
    if (pair.target == target && source.value_or(pair.source) == pair.source) {
      direction->task = pair.task;
      direction->source_language = sources()[pair.source].bcp47;
      return absl::OkStatus();
    }
    if (pair.source != source) continue;
    others += others.empty() ? "" : ", ";
    others += targets()[pair.target].bcp47;
  }
  return absl::InvalidArgumentError(fmt::format(
      "target_language '{}' does not go with source_language '{}', which this "
      "model translates to: {}",
      targets()[target].bcp47, sources()[*source].bcp47, others));
}

absl::Status LanguageTable::TellPrompt(std::optional<size_t> source,
                                       size_t target,
                                       Direction* direction) const {
  if (!source && prompt_->needs_source()) {
    return absl::InvalidArgumentError(
        fmt::format("source_language is missing; this model translates from {}",
                    sources_.Choices("")));
  }
  if (source) direction->prompt_source = &prompt_->languages[*source];
  direction->prompt_target = &prompt_->languages[target];
  return absl::OkStatus();
}

std::string LanguageTable::SourceTag(std::optional<std::string_view> name,
                                     std::optional<size_t> source,
                                     std::optional<size_t> target) const {
  if (source) return sources()[*source].bcp47;
  if (name) {
    const std::string tag = ToBcp47(*name);
    return tag.empty() ? std::string(*name) : tag;
  }
  std::string found;
  for (const Language& language : sources()) {
    if (target && language.bcp47 == targets()[*target].bcp47) continue;
    if (!found.empty()) return "";
    found = language.bcp47;
  }
  return found;
}

absl::StatusOr<Direction> LanguageTable::Resolve(
    std::optional<std::string_view> source_language,
    std::optional<std::string_view> target_language) const {
  Direction direction;
  // Without a language, the texts themselves may say what to do with them.
  if (!tasks_.empty() && !source_language && !target_language) {
    return direction;
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<size_t> source,
                           ResolveSource(source_language));
  TRIVIUM_ASSIGN_OR_RETURN(const size_t target,
                           ResolveTarget(source_language, target_language));
  const bool told = target < targets().size();
  if (told) direction.target_language = targets()[target].bcp47;
  direction.source_language = SourceTag(
      source_language, source, told ? std::optional(target) : std::nullopt);
  if (prompt_ != nullptr) {
    TRIVIUM_RETURN_IF_ERROR(TellPrompt(source, target, &direction));
  } else if (!tokens_.codes.empty()) {
    TRIVIUM_RETURN_IF_ERROR(TellTokens(source, target, &direction));
  } else if (!tasks_.empty()) {
    TRIVIUM_RETURN_IF_ERROR(TellTask(source, target, &direction));
  }
  return direction;
}

}  // namespace trivium
