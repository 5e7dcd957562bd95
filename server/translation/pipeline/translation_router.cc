// Routing. The first rule that applies:
//   1. the call's own model, if it resolves the languages that the call names;
//   2. the first other model that does; but if a language is left out and
//      models would fill it in differently, the call must name it;
//   3. two models with the pivot language between them: the first model of each
//      kind in the order of the models.
// What always holds: a call's own model wins over any other, one model wins
// over two, and there are never more than two. A model that "translates" from a
// language to itself is not a step of a pivot route.
//
// A model's languages may have several names, so routes are compared by the
// tags that models resolve names to, never by the names.
#include "server/translation/pipeline/translation_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/errors/status.h"

namespace trivium {
namespace {

bool Translates(const ServedModel& model) { return model.model->translates(); }

std::optional<std::string> Owned(std::optional<std::string_view> name) {
  return name ? std::optional<std::string>(*name) : std::nullopt;
}

// Returns "en-de (en to de)", for errors.
std::string Shown(const TranslationRoute::Step& step) {
  return fmt::format("{} ({} to {})", step.model->name, step.source_tag,
                     step.target_tag);
}

}  // namespace

std::optional<TranslationRoute::Step> TranslationRouter::StepOf(
    const ModelHandle& model, std::optional<std::string_view> source,
    std::optional<std::string_view> target) {
  if (!Translates(*model)) return std::nullopt;
  absl::StatusOr<Direction> direction =
      model->model->ResolveDirection(source, target);
  if (!direction.ok()) return std::nullopt;
  return TranslationRoute::Step{model, Owned(source), Owned(target),
                                std::move(direction->source_language),
                                std::move(direction->target_language)};
}

bool TranslationRouter::none() const {
  return alone() && !Translates(*models_[0]);
}

bool TranslationRouter::alone() const {
  return std::none_of(
      models_.begin() + 1, models_.end(),
      [](const ModelHandle& model) { return Translates(*model); });
}

absl::StatusOr<TranslationRoute> TranslationRouter::Find(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target) const {
  if (const auto step = StepOf(models_[0], source, target)) {
    return TranslationRoute{{*step}};
  }
  std::vector<TranslationRoute::Step> found;
  for (const ModelHandle& model : models_) {
    if (auto step = StepOf(model, source, target)) {
      found.push_back(*std::move(step));
    }
  }
  const auto other =
      std::find_if(found.begin(), found.end(), [&found](const auto& step) {
        return step.source_tag != found[0].source_tag ||
               step.target_tag != found[0].target_tag;
      });
  if (other != found.end()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} is missing, and models fill it in differently: {}, {}; give it",
        source ? "target_language" : "source_language", Shown(found[0]),
        Shown(*other)));
  }
  if (!found.empty()) return TranslationRoute{{found[0]}};
  if (source && target) {
    if (auto route = ByPivot(*source, *target)) return *std::move(route);
  }
  return NoRoute(source, target);
}

std::optional<TranslationRoute> TranslationRouter::ByPivot(
    std::string_view source, std::string_view target) const {
  if (pivot_.empty()) return std::nullopt;
  std::optional<TranslationRoute::Step> first, second;
  for (const ModelHandle& model : models_) {
    if (!first) first = StepOf(model, source, pivot_);
    if (!second) second = StepOf(model, pivot_, target);
  }
  // A text from or to the pivot language needs one model; it has no pivot
  // route.
  if (!first || !second || first->source_tag == first->target_tag ||
      second->source_tag == second->target_tag) {
    return std::nullopt;
  }
  return TranslationRoute{{*std::move(first), *std::move(second)}};
}

absl::Status TranslationRouter::NoRoute(
    std::optional<std::string_view> source,
    std::optional<std::string_view> target) const {
  std::string models;
  for (const ModelHandle& model : models_) {
    if (!Translates(*model)) continue;
    const ModelInfo& info = model->model->info();
    const auto few = [](const std::vector<Language>& languages) {
      return languages.size() == 1
                 ? languages[0].bcp47
                 : fmt::format("{} languages", languages.size());
    };
    models +=
        fmt::format("{}{} ({} to {})", models.empty() ? "" : ", ", model->name,
                    few(info.source_languages), few(info.target_languages));
  }
  const std::string from =
      source ? fmt::format(" from '{}'", Shorten(*source)) : "";
  const std::string to =
      target ? fmt::format(" to '{}'", Shorten(*target)) : "";
  return absl::InvalidArgumentError(fmt::format(
      "no model translates{}{}{}; the models are: {}", from, to,
      pivot_.empty() ? "" : fmt::format(", nor do two by way of '{}'", pivot_),
      Shorten(models, 500)));
}

absl::StatusOr<TranslationRoute> TranslationRouter::Fallback(
    std::optional<std::string_view> target) const {
  const auto differs = [](const TranslationRoute::Step& first,
                          const TranslationRoute::Step& last) {
    return first.source_tag != last.target_tag;
  };
  auto english = Find("en", target);
  if (english.ok() && differs(english->steps[0], english->steps.back())) {
    return english;
  }
  for (const ModelHandle& model : models_) {
    for (const Language& language : model->model->info().source_languages) {
      auto step =
          StepOf(model, language.bcp47.empty() ? language.code : language.bcp47,
                 target);
      if (step && differs(*step, *step)) {
        return TranslationRoute{{*std::move(step)}};
      }
    }
  }
  auto any = Find("und", target);
  if (any.ok()) return any;
  return NoRoute({}, target);
}

}  // namespace trivium
