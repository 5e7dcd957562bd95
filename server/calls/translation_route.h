#ifndef TRIVIUM_SERVER_CALLS_TRANSLATION_ROUTE_H_
#define TRIVIUM_SERVER_CALLS_TRANSLATION_ROUTE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/served_model.h"

namespace trivium {

// The models that translate a text one after the other, and between which
// languages; unset where the call leaves one out.
struct TranslationRoute {
  struct Step {
    ModelHandle model;
    std::optional<std::string> source = {}, target = {};
    // As the model knows them: BCP 47, or empty.
    std::string source_tag = {}, target_tag = {};
  };
  std::vector<Step> steps;
};

// Finds the models for a pair of languages among those that a call may have.
// The answer follows from the pair and the models, in their order, alone.
//
//   TranslationRouter router(models, "en");
//   router.Find("de", "fr")   // de-fr; else de-en, then en-fr
class TranslationRouter {
 public:
  // `models`: one at least. `pivot`: BCP 47; empty: none.
  TranslationRouter(std::vector<ModelHandle> models, std::string pivot)
      : models_(std::move(models)), pivot_(std::move(pivot)) {}

  // No model translates at all; no other one than the first: there is nothing
  // to find.
  bool none() const;
  bool alone() const;

  // The first model, if it has the languages; else another, unless what is left
  // out makes a choice of several pairs; else two by way of the pivot, where
  // both languages are named. INVALID_ARGUMENT.
  absl::StatusOr<TranslationRoute> Find(
      std::optional<std::string_view> source,
      std::optional<std::string_view> target) const;

  // The route of a text that does not tell its language: as if it were English
  // where there is a way from that, else the first language of the first model
  // that has one, else "und", where a model reads any. INVALID_ARGUMENT: there
  // is no way to the target.
  absl::StatusOr<TranslationRoute> Fallback(
      std::optional<std::string_view> target) const;

 private:
  static std::optional<TranslationRoute::Step> StepOf(
      const ModelHandle& model, std::optional<std::string_view> source,
      std::optional<std::string_view> target);
  std::optional<TranslationRoute> ByPivot(std::string_view source,
                                          std::string_view target) const;
  absl::Status NoWay(std::optional<std::string_view> source,
                     std::optional<std::string_view> target) const;

  std::vector<ModelHandle> models_;
  std::string pivot_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_TRANSLATION_ROUTE_H_
