// Chooses the models that translate an input.
//
// If the call names its languages, or leaves some out, all inputs share one
// path. It is found when the call is opened.
//
// If the call names one language twice, texts come back unchanged, unless a
// model tells the two names apart ("en-US" to "en-GB"). Ids, and calls that ask
// for attention or the like, go through the model all the same.
//
// If the source is "auto", CLD2 guesses up to three languages of each text,
// likeliest first. The first rule that applies:
//   1. The text is surely in the target language: it comes back unchanged.
//   2. The first guess with a route to the target decides.
//   3. CLD2 is sure of the language, but no route leads from it: an error.
//   4. The router's fallback decides.
// Rules 1 and 2 look at guess after guess; a guess of the target language that
// is not sure is skipped.
#include "server/translation/pipeline/routed_translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/language_names.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/markup_stage.h"

namespace trivium {
namespace {

// Returns the router's refusal as an error of the call's options.
absl::Status Refusal(const absl::Status& status, const std::string& path) {
  const absl::string_view message = status.message();
  const std::string field = absl::StartsWith(message, "source_language")
                                ? "source_language"
                                : "target_language";
  // The message may begin with the name of the field.
  return InvalidField(path + "." + field,
                      std::string(absl::StripPrefix(message, field + " ")));
}

// True if the two names are one language for the models of `route`, which was
// found for them, or was not.
bool IsOneLanguage(const std::string& source, const std::string& target,
                   const absl::StatusOr<TranslationRoute>& route) {
  if (route.ok()) {
    const std::string& from = route->steps.front().source_tag;
    const std::string& to = route->steps.back().target_tag;
    // Some models read any language, and are not told which.
    if (!from.empty() && from != "und") return from == to;
  }
  return AreSameLanguage(source, target);
}

std::optional<std::string_view> ViewOf(const std::optional<std::string>& name) {
  return name ? std::optional<std::string_view>(*name) : std::nullopt;
}

// Returns the tag, and the language without its script for models that do not
// tell scripts apart.
std::vector<std::string> NamesOf(const std::string& tag) {
  const size_t end = tag.find('-');
  if (end == tag.npos) return {tag};
  return {tag, tag.substr(0, end)};
}

}  // namespace

absl::StatusOr<RoutedTranslation> RoutedTranslation::Create(
    RoutingOptions options) {
  RoutedTranslation result(std::move(options));
  const std::string& path = result.options_.path;
  const bool task = result.options_.task;
  std::optional<std::string>& target = result.options_.target;
  if (result.detects() && !task && !result.router_.none()) {
    absl::StatusOr<TranslationRoute> fallback =
        result.router_.Fallback(ViewOf(target));
    if (!fallback.ok()) return Refusal(fallback.status(), path);
    result.fallback_ = *std::move(fallback);
    // All texts have the same target.
    const std::string& tag = result.fallback_.steps.back().target_tag;
    if (!target && !tag.empty()) target = tag;
    return result;
  }
  const ModelHandle& own = result.options_.models[0];
  TranslationRoute route = {{{own}}};
  const bool choice = !task && !result.router_.alone();
  const std::optional<std::string>& source = result.options_.source;
  const bool named = !task && source && target && !result.router_.none();
  if (choice || named) {
    absl::StatusOr<TranslationRoute> found =
        result.router_.Find(ViewOf(source), ViewOf(target));
    result.one_language_ = named && result.options_.texts_only &&
                           IsOneLanguage(*source, *target, found);
    if (!found.ok() && result.one_language_) return result;
    if (!found.ok() && choice) return Refusal(found.status(), path);
    if (choice) route = *std::move(found);
  }
  const bool report =
      choice && (route.steps.size() > 1 || route.steps[0].model != own);
  TRIVIUM_ASSIGN_OR_RETURN(TranslationPath all, result.MakePath(route, report));
  result.path_ = std::make_unique<TranslationPath>(std::move(all));
  result.first_model_ = route.steps[0].model;
  return result;
}

absl::StatusOr<TranslationPath> RoutedTranslation::MakePath(
    const TranslationRoute& route, bool report) const {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<TranslationOptions> steps,
                           options_.options_of(route));
  std::vector<ReportedStep> reported;
  if (report) {
    for (const TranslationRoute::Step& step : route.steps) {
      reported.push_back({step.model->name, step.model->model->info().revision,
                          step.source_tag, step.target_tag});
    }
  }
  return TranslationPath(std::move(steps), std::move(reported));
}

absl::Status RoutedTranslation::Compose() {
  return path_ == nullptr ? absl::OkStatus() : path_->Compose();
}

absl::StatusOr<const TranslationPath*> RoutedTranslation::PathOf(
    const TranslationRoute& route) {
  const std::string& source = *route.steps[0].source;
  auto found = paths_.find(source);
  if (found == paths_.end()) {
    TRIVIUM_ASSIGN_OR_RETURN(TranslationPath made,
                             MakePath(route, /*report=*/true));
    if (paths_.empty() && options_.on_first_model) {
      TRIVIUM_RETURN_IF_ERROR(options_.on_first_model(route.steps[0].model));
    }
    TRIVIUM_RETURN_IF_ERROR(made.Compose());
    found =
        paths_
            .emplace(source, std::make_unique<TranslationPath>(std::move(made)))
            .first;
  }
  return found->second.get();
}

absl::StatusOr<RoutedTranslation::Job> RoutedTranslation::Prepare(
    const TranslationInput& input) {
  Job job;
  if (StaysUnchanged(input)) {
    job.text.text = *input.text;
    return job;
  }
  job.path = path_.get();
  std::optional<Markup> markup;
  if (one_language_ && path_ == nullptr) {
    return Refusal(router_.Find(options_.source, options_.target).status(),
                   options_.path);
  }
  if (!same_for_all()) {
    if (!input.text) {
      return InvalidField(
          options_.path + ".source_language",
          fmt::format("is auto, but {} is not a text, so it has no language "
                      "to detect; "
                      "name the language",
                      input.path));
    }
    if (options_.format) {
      TRIVIUM_ASSIGN_OR_RETURN(
          markup, ParseMarkup(*options_.format, *input.text, input.path));
    }
    TRIVIUM_RETURN_IF_ERROR(
        ChoosePath(markup ? markup->plain() : *input.text, input.path, &job));
    if (job.path == nullptr) {
      job.text.text = *input.text;
      return job;
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(static_cast<TranslationPath::Job&>(job),
                           job.path->Prepare(input, std::move(markup)));
  return job;
}

absl::Status RoutedTranslation::ChoosePath(const std::string& plain,
                                           const std::string& path, Job* job) {
  if (IsBlank(plain)) return absl::OkStatus();
  job->detected = DetectLanguages(plain);
  absl::Status refusal;
  for (const LanguageGuess& guess : job->detected) {
    const std::vector<std::string> names = NamesOf(guess.language);
    const bool from_target =
        std::find(names.begin(), names.end(),
                  fallback_.steps.back().target_tag) != names.end();
    if (from_target && guess.reliable) return absl::OkStatus();
    if (from_target) continue;
    for (const std::string& name : names) {
      const absl::StatusOr<TranslationRoute> route =
          router_.Find(name, ViewOf(options_.target));
      refusal.Update(route.status());
      if (!route.ok()) continue;
      TRIVIUM_ASSIGN_OR_RETURN(job->path, PathOf(*route));
      return absl::OkStatus();
    }
  }
  if (!job->detected.empty() && job->detected[0].reliable) {
    const LanguageGuess& surest = job->detected[0];
    return InvalidField(
        options_.path + ".source_language",
        fmt::format("is auto, and {}.text is in '{}' ({} %, by CLD2): {}; name "
                    "another language, or leave the text out",
                    path, surest.language, surest.percent,
                    std::string(refusal.message())));
  }
  job->detected.push_back({fallback_.steps[0].source_tag});
  TRIVIUM_ASSIGN_OR_RETURN(job->path, PathOf(fallback_));
  return absl::OkStatus();
}

absl::Status RoutedTranslation::AddResult(RequestResult result,
                                          Job* job) const {
  return job->path->AddResult(std::move(result), job);
}

RoutedText RoutedTranslation::Result(Job job) const {
  RoutedText result;
  result.detected = std::move(job.detected);
  const TranslationPath* const path = job.path;
  if (path == nullptr) {
    result.text.hypotheses.emplace_back().text = std::move(job.text.text);
    return result;
  }
  const bool translated = !job.text.parts.empty();
  result.last = &path->last();
  result.text = path->Result(std::move(job));
  if (translated) result.route = path->reported();
  return result;
}

}  // namespace trivium
