#include "server/calls/routed_translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/errors/status.h"
#include "server/translation/language_detection.h"
#include "server/translation/markup.h"

namespace trivium {
namespace {

constexpr std::string_view kAuto = "auto";

// What two models may be asked, one after the other.
constexpr std::string_view kPivotOptions[] = {
    "source_language", "target_language", "decoding", "truncate",
    "split",           "sentences",       "checks",   "truncation_direction",
    "protect",         "format",          "glossary",
};
constexpr std::string_view kPivotDecoding[] = {
    "beam_size",
    "num_hypotheses",
    "length_penalty",
    "early_stopping",
    "max_new_tokens",
    "repetition_penalty",
    "no_repeat_ngram_size",
};

// INVALID_ARGUMENT for the first field that is set and is none of `allowed`.
template <size_t kSize>
absl::Status CheckOnly(const google::protobuf::Message& message,
                       const std::string_view (&allowed)[kSize],
                       const std::string& path, const std::string& pivot) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (std::find(std::begin(allowed), std::end(allowed), field->name()) !=
        std::end(allowed)) {
      continue;
    }
    return InvalidField(
        fmt::format("{}.{}", path, field->name()),
        fmt::format("is of one model, and two translate, by way of '{}'; leave "
                    "it out, or translate to '{}' and from there in two calls",
                    pivot, pivot));
  }
  return absl::OkStatus();
}

absl::Status CheckPivot(const v1::TranslateOptions& options,
                        const std::string& path, const std::string& pivot) {
  TRIVIUM_RETURN_IF_ERROR(CheckOnly(options, kPivotOptions, path, pivot));
  return CheckOnly(options.decoding(), kPivotDecoding, path + ".decoding",
                   pivot);
}

// A router's refusal as one of the options'.
absl::Status Refusal(const absl::Status& status, const std::string& path) {
  const std::string message(status.message());
  const char* const field = absl::StartsWith(message, "source_language")
                                ? ".source_language"
                                : ".target_language";
  return InvalidField(path + field, message);
}

std::optional<std::string_view> Given(bool has, const std::string& name) {
  return has ? std::optional<std::string_view>(name) : std::nullopt;
}

std::optional<std::string_view> TargetOf(const v1::TranslateOptions& options) {
  return Given(options.has_target_language(), options.target_language());
}

// The language as it is written, and where a model tells no scripts apart, in
// any.
std::vector<std::string> NamesOf(const std::string& tag) {
  const size_t end = tag.find('-');
  if (end == tag.npos) return {tag};
  return {tag, tag.substr(0, end)};
}

// What a part's translation by way of another language adds up to.
void AddStep(const v1::TranslateResult& before, v1::TranslateResult* result) {
  result->set_source_token_count(before.source_token_count());
  result->set_truncated_tokens(before.truncated_tokens() +
                               result->truncated_tokens());
  result->set_second_try_count(before.second_try_count() +
                               result->second_try_count());
  result->set_second_kept_count(before.second_kept_count() +
                                result->second_kept_count());
  for (v1::Hypothesis& hypothesis : *result->mutable_hypotheses()) {
    if (before.hypotheses(0).finish_reason() == v1::FINISH_REASON_LENGTH) {
      hypothesis.set_finish_reason(v1::FINISH_REASON_LENGTH);
    }
  }
  // What is wrong with the first translation is so with all that is made of it.
  for (const v1::UnkeptSpan& unkept : before.unkept()) {
    for (int h = 0; h < result->hypotheses_size(); ++h) {
      v1::UnkeptSpan* const added = result->add_unkept();
      *added = unkept;
      added->set_hypothesis(static_cast<uint32_t>(h));
    }
  }
  for (const v1::Suspicion& suspicion : before.suspicions()) {
    for (int h = 0; h < result->hypotheses_size(); ++h) {
      const bool known =
          std::any_of(result->suspicions().begin(), result->suspicions().end(),
                      [&](const v1::Suspicion& other) {
                        return other.check() == suspicion.check() &&
                               other.hypothesis() == static_cast<uint32_t>(h);
                      });
      if (known) continue;
      v1::Suspicion* const added = result->add_suspicions();
      *added = suspicion;
      added->set_hypothesis(static_cast<uint32_t>(h));
    }
  }
}

}  // namespace

absl::StatusOr<RoutedTranslation> RoutedTranslation::Create(
    Call* call, bool named, const v1::TranslateOptions& options,
    const std::string& path, std::function<absl::Status()> wanted,
    std::function<absl::Status()> on_model) {
  std::vector<ModelHandle> models = {call->model_handle()};
  const Environment& environment = call->environment();
  if (!named) {
    for (const ModelHandle& model : environment.models.List()) {
      if (model != models[0] && call->MayUse(*model)) models.push_back(model);
    }
  }
  RoutedTranslation result(
      call, path,
      TranslationRouter(std::move(models),
                        named ? "" : environment.pivot_language),
      std::move(wanted), std::move(on_model));
  if (options.source_language() == kAuto && !options.has_task() &&
      !result.router_.none()) {
    absl::StatusOr<TranslationRoute> fallback =
        result.router_.Fallback(TargetOf(options));
    if (!fallback.ok()) return Refusal(fallback.status(), path);
    result.fallback_ = *std::move(fallback);
    result.auto_options_ = std::make_unique<v1::TranslateOptions>(options);
    // One target for all texts.
    const std::string& target = result.fallback_.steps.back().target_tag;
    if (!options.has_target_language() && !target.empty()) {
      result.auto_options_->set_target_language(target);
    }
    return result;
  }
  TranslationRoute route = {{{call->model_handle()}}};
  const bool choice = !options.has_task() && !result.router_.alone();
  if (choice) {
    absl::StatusOr<TranslationRoute> found = result.router_.Find(
        Given(options.has_source_language(), options.source_language()),
        TargetOf(options));
    if (!found.ok()) return Refusal(found.status(), path);
    route = *std::move(found);
  }
  const bool tell = choice && (route.steps.size() > 1 ||
                               route.steps[0].model != call->model_handle());
  TRIVIUM_ASSIGN_OR_RETURN(result.way_, result.MakeWay(route, options, tell));
  if (options.has_protect() || options.has_glossary()) {
    result.unread_options_ = std::make_unique<v1::TranslateOptions>(options);
  }
  call->Use(route.steps[0].model);
  return result;
}

absl::StatusOr<std::unique_ptr<RoutedTranslation::Way>>
RoutedTranslation::MakeWay(const TranslationRoute& route,
                           const v1::TranslateOptions& options,
                           bool tell) const {
  auto way = std::make_unique<Way>();
  const size_t count = route.steps.size();
  if (count > 1) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckPivot(options, path_, route.steps[0].target_tag));
  }
  for (size_t i = 0; i < count; ++i) {
    const TranslationRoute::Step& step = route.steps[i];
    v1::TranslateOptions own = options;
    if (step.source) own.set_source_language(*step.source);
    if (step.target) own.set_target_language(*step.target);
    if (i + 1 < count) own.mutable_decoding()->clear_num_hypotheses();
    TRIVIUM_ASSIGN_OR_RETURN(
        Translation translation,
        Translation::Create(call_->environment(), *step.model, own, path_,
                            /*goes_on=*/i + 1 < count, wanted_));
    way->steps.push_back({step.model, std::move(translation)});
    if (!tell) continue;
    v1::TranslationStep& told = way->told.emplace_back();
    told.mutable_model()->set_name(step.model->name);
    told.mutable_model()->set_revision(step.model->model->info().revision);
    told.set_source_language(step.source_tag);
    told.set_target_language(step.target_tag);
  }
  return way;
}

absl::Status RoutedTranslation::ReadPatternsAndTerms() {
  const auto options = std::exchange(unread_options_, nullptr);
  if (options == nullptr) return absl::OkStatus();
  return ReadPatternsAndTerms(*options, way_.get());
}

absl::Status RoutedTranslation::ReadPatternsAndTerms(
    const v1::TranslateOptions& options, Way* way) const {
  Translation& last = way->steps.back().translation;
  TRIVIUM_RETURN_IF_ERROR(last.ReadPatternsAndTerms(
      options, path_, way->steps[0].translation.source_language()));
  for (size_t i = 0; i + 1 < way->steps.size(); ++i) {
    way->steps[i].translation.TakePatternsAndTerms(last);
  }
  return absl::OkStatus();
}

int64_t RoutedTranslation::TextBytes(const v1::Input& input) const {
  // What is not read yet, and for each source anew.
  const v1::TranslateOptions* const unread =
      same_for_all() ? unread_options_.get() : auto_options_.get();
  return trivium::TextBytes(input) +
         (unread == nullptr ? 0 : trivium::TextBytes(*unread));
}

absl::StatusOr<const RoutedTranslation::Way*> RoutedTranslation::WayFrom(
    const TranslationRoute& route) {
  const std::string& source = *route.steps[0].source;
  auto found = ways_.find(source);
  if (found == ways_.end()) {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Way> way,
                             MakeWay(route, *auto_options_, /*tell=*/true));
    // The call is its first text's model's.
    if (ways_.empty()) {
      call_->Use(route.steps[0].model);
      if (on_model_) TRIVIUM_RETURN_IF_ERROR(on_model_());
    }
    TRIVIUM_RETURN_IF_ERROR(ReadPatternsAndTerms(*auto_options_, way.get()));
    found = ways_.emplace(source, std::move(way)).first;
  }
  return found->second.get();
}

absl::Status RoutedTranslation::Choose(const v1::Input& input,
                                       const std::string& path, Item* item) {
  if (!input.has_text()) {
    return InvalidField(
        path_ + ".source_language",
        fmt::format("is auto, which is detected of texts, and {} is none; name "
                    "the language",
                    path));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckTextBytes(input.text().size(), path + ".text",
                                         call_->environment().limits));
  TRIVIUM_ASSIGN_OR_RETURN(
      item->markup,
      ParseMarkup(auto_options_->format(), input.text(), path + ".text"));
  item->text.text = input.text();
  // What people read.
  const std::string& text =
      item->markup ? item->markup->plain() : item->text.text;
  if (IsBlank(text)) return absl::OkStatus();
  const std::optional<std::string_view> target = TargetOf(*auto_options_);
  const std::vector<LanguageGuess> guesses = DetectLanguages(text);
  for (const LanguageGuess& guess : guesses) {
    v1::DetectedLanguage& told = item->detected.emplace_back();
    told.set_language(guess.language);
    told.set_confidence(static_cast<float>(guess.percent) / 100);
    told.set_reliable(guess.reliable);
  }
  absl::Status refusal;
  for (const LanguageGuess& guess : guesses) {
    const std::vector<std::string> names = NamesOf(guess.language);
    const bool from_target =
        std::find(names.begin(), names.end(),
                  fallback_.steps.back().target_tag) != names.end();
    if (from_target && guess.reliable) return absl::OkStatus();
    if (from_target) continue;
    for (const std::string& name : names) {
      const absl::StatusOr<TranslationRoute> route = router_.Find(name, target);
      refusal.Update(route.status());
      if (!route.ok()) continue;
      TRIVIUM_ASSIGN_OR_RETURN(item->way, WayFrom(*route));
      return absl::OkStatus();
    }
  }
  if (!guesses.empty() && guesses[0].reliable) {
    return InvalidField(
        path_ + ".source_language",
        fmt::format("is auto, and {}.text is in '{}' ({} %, by CLD2): {}; name "
                    "another language, or leave the text out",
                    path, guesses[0].language, guesses[0].percent,
                    std::string(refusal.message())));
  }
  item->detected.emplace_back().set_language(fallback_.steps[0].source_tag);
  TRIVIUM_ASSIGN_OR_RETURN(item->way, WayFrom(fallback_));
  return absl::OkStatus();
}

absl::StatusOr<RoutedTranslation::Item> RoutedTranslation::Prepare(
    const v1::Input& input, const std::string& path) {
  Item item;
  item.way = way_.get();
  if (auto_options_ != nullptr) {
    TRIVIUM_RETURN_IF_ERROR(Choose(input, path, &item));
    if (item.way == nullptr) return item;
  }
  const std::vector<Way::Step>& steps = item.way->steps;
  if (steps.size() > 1 &&
      (!input.has_text() || input.target_case() != v1::Input::TARGET_NOT_SET)) {
    return InvalidField(path,
                        "is more than a text, and two models translate; "
                        "send a text without target prefix");
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      static_cast<Translation::Item&>(item),
      steps[0].translation.Prepare(input, path, std::move(item.markup)));
  TRIVIUM_RETURN_IF_ERROR(Advance(&item));
  return item;
}

absl::Status RoutedTranslation::Take(Item* item, RequestResult result) const {
  TRIVIUM_RETURN_IF_ERROR(
      item->way->steps[item->step].translation.Take(item, std::move(result)));
  return Advance(item);
}

absl::Status RoutedTranslation::Advance(Item* item) {
  const std::vector<Way::Step>& steps = item->way->steps;
  if (item->done() && item->step + 1 < steps.size()) {
    item->before = std::move(item->results);
    ++item->step;
    TRIVIUM_RETURN_IF_ERROR(
        steps[item->step].translation.PrepareParts(item->before, item));
  }
  for (Request& request : item->requests) {
    request.model = steps[item->step].model;
  }
  return absl::OkStatus();
}

v1::TranslateResult RoutedTranslation::Result(Item item) const {
  v1::TranslateResult result;
  if (item.way == nullptr) {
    v1::Hypothesis* const hypothesis = result.add_hypotheses();
    hypothesis->set_text(item.text.text);
    hypothesis->set_finish_reason(v1::FINISH_REASON_END);
  } else {
    for (size_t i = 0; i < item.before.size(); ++i) {
      AddStep(item.before[i], &item.results[i]);
    }
    const bool translated = !item.results.empty();
    result = item.way->steps.back().translation.Result(std::move(item));
    if (translated) {
      result.mutable_route()->Assign(item.way->told.begin(),
                                     item.way->told.end());
    }
  }
  result.mutable_detected_languages()->Assign(item.detected.begin(),
                                              item.detected.end());
  return result;
}

}  // namespace trivium
