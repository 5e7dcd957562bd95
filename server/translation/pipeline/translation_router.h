#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_ROUTER_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_ROUTER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/served_model.h"

namespace trivium {

// The models that translate a text one after the other, and between which
// languages.
struct TranslationRoute {
  struct Step {
    ModelHandle model;
    // As the call, or the router, names them; unset if left out.
    std::optional<std::string> source = {}, target = {};
    // As the model knows them: BCP 47, or empty.
    std::string source_tag = {}, target_tag = {};
  };
  std::vector<Step> steps;  // one, or two with the pivot language between them
};

// Finds the models for a pair of languages among those that a call may use. The
// answer depends only on the pair and on the models in their order.
//
//   TranslationRouter router(models, "en");
//   router.Find("de", "fr")   // de-fr; else de-en, then en-fr
class TranslationRouter {
 public:
  // `models`: at least one. `pivot`: BCP 47; empty: none.
  TranslationRouter(std::vector<ModelHandle> models, std::string pivot)
      : models_(std::move(models)), pivot_(std::move(pivot)) {}

  // No model translates.
  bool none() const;
  // No model but perhaps the first translates, so there is no choice.
  bool alone() const;

  // The first model, if it has the languages. Else another model, unless a
  // language is left out and models differ in it. Else two models by way of the
  // pivot, if both languages are named. INVALID_ARGUMENT: there is no route;
  // the message begins with the name of a language's field if it is at fault.
  absl::StatusOr<TranslationRoute> Find(
      std::optional<std::string_view> source,
      std::optional<std::string_view> target) const;

  // The route of a text whose language cannot be detected: from English if it
  // can be translated, else from the first language of the first model that has
  // one, else from "und", if a model reads any language. INVALID_ARGUMENT: no
  // route leads to the target.
  absl::StatusOr<TranslationRoute> Fallback(
      std::optional<std::string_view> target) const;

 private:
  static std::optional<TranslationRoute::Step> StepOf(
      const ModelHandle& model, std::optional<std::string_view> source,
      std::optional<std::string_view> target);
  std::optional<TranslationRoute> ByPivot(std::string_view source,
                                          std::string_view target) const;
  absl::Status NoRoute(std::optional<std::string_view> source,
                       std::optional<std::string_view> target) const;

  std::vector<ModelHandle> models_;
  std::string pivot_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_ROUTER_H_
