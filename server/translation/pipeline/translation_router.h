#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_ROUTER_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_ROUTER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/served_model.h"

namespace trivium {

// The models that translate a text one after the other, and their languages.
struct TranslationRoute {
  struct Step {
    ModelHandle model;
    // The names that the call or the router uses; unset if left out.
    std::optional<std::string> source = {}, target = {};
    // The tags that the model uses: BCP 47, or empty.
    std::string source_tag = {}, target_tag = {};
  };
  std::vector<Step> steps;  // one, or two with the pivot language between
};

// Finds models for a pair of languages among those that a call may use. The
// result depends only on the pair and on the models in their order.
//
//   TranslationRouter router(models, "en");
//   router.Find("de", "fr")   // de-fr; else de-en, then en-fr
class TranslationRouter {
 public:
  // `models` is not empty. `pivot`: BCP 47; empty: none.
  TranslationRouter(std::vector<ModelHandle> models, std::string pivot)
      : models_(std::move(models)), pivot_(std::move(pivot)) {}

  // True if no model translates.
  bool none() const;
  // True if at most the first model translates, so there is no choice.
  bool alone() const;

  // Returns the first route that applies:
  //   1. the first model, if it has both languages;
  //   2. the first other model that has them; but if the call leaves out a
  //      language, models must not differ in it;
  //   3. two models by way of the pivot, if the call names both languages.
  // INVALID_ARGUMENT if there is no route. If one language field is at fault,
  // the message begins with its name.
  absl::StatusOr<TranslationRoute> Find(
      std::optional<std::string_view> source,
      std::optional<std::string_view> target) const;

  // Returns the route of a text whose language cannot be detected. Its source
  // is English if possible; else the first language of the first model that has
  // a route; else "und", if a model reads any language. INVALID_ARGUMENT if no
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
