#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_ROUTED_TRANSLATION_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_ROUTED_TRANSLATION_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/translation/language_detection.h"
#include "server/translation/pipeline/translation_path.h"
#include "server/translation/pipeline/translation_router.h"

namespace trivium {

// The languages of a call and the models that it may use.
struct RoutingOptions {
  std::string path;  // of the call's options in errors: "options"
  // As the call names them; a source of "auto" is detected in each text.
  std::optional<std::string> source, target;
  bool task = false;                // the call names a task instead
  std::vector<ModelHandle> models;  // the call's first, then others
  std::string pivot;                // BCP 47; empty: none
  std::optional<MarkupFormat> format;

  // The options of each step of a route.
  std::function<absl::StatusOr<std::vector<TranslationOptions>>(
      const TranslationRoute& route)>
      options_of;
  // Told the model that the call's first text begins with, if languages are
  // detected; returns an error if the call shall end. May be null.
  std::function<absl::Status(const ModelHandle& model)> on_first_model =
      nullptr;
};

// A translated input.
struct RoutedText {
  TranslatedText text;
  // What the last model was asked; null if the text came back as it is.
  const TranslationOptions* last = nullptr;
  std::vector<ReportedStep> route;  // empty if the server had no choice
  // Of "auto", likeliest first; a guess of 0 % if nothing was detected.
  std::vector<LanguageGuess> detected;
};

// Translates the inputs of a call along paths: one for all inputs, or one for
// each source language that is detected.
//
// Used as a Pipeline is. Prepare is for one thread at a time; Take and Result
// may run beside it, for jobs that differ.
class RoutedTranslation {
 public:
  struct Job : TranslationPath::Job {
    const TranslationPath* path =
        nullptr;  // null: the text comes back as it is
    std::vector<LanguageGuess> detected = {};
  };

  static absl::StatusOr<RoutedTranslation> Create(RoutingOptions options);

  // All inputs take the same path.
  bool same_for_all() const { return path_ != nullptr; }
  // The model that this path begins with.
  const ModelHandle& first_model() const { return first_model_; }

  // Reads patterns and terms, which takes long; once, before anything is
  // prepared. Where languages are detected, Prepare does this for each.
  absl::Status Compose();
  absl::StatusOr<Job> Prepare(const TranslationInput& input);
  absl::Status Take(RequestResult result, Job* job) const;
  RoutedText Result(Job job) const;

 private:
  explicit RoutedTranslation(RoutingOptions options)
      : options_(std::move(options)),
        router_(options_.models, options_.pivot) {}

  bool detects() const { return options_.source == "auto"; }
  // The path of a route, composed once for all texts of its source language.
  absl::StatusOr<const TranslationPath*> PathOf(const TranslationRoute& route);
  absl::StatusOr<TranslationPath> MakePath(const TranslationRoute& route,
                                           bool report) const;
  // Detects the language of an input, and sets the job's path. `plain`: the
  // text as people read it.
  absl::Status ChoosePath(const std::string& plain, const std::string& path,
                          Job* job);

  RoutingOptions options_;
  TranslationRouter router_;
  // Of all inputs, or null.
  std::unique_ptr<TranslationPath> path_;
  ModelHandle first_model_;
  // Where sources are detected: a path for each, by its name, and the route of
  // texts whose language cannot be detected.
  std::map<std::string, std::unique_ptr<TranslationPath>> paths_;
  TranslationRoute fallback_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_ROUTED_TRANSLATION_H_
