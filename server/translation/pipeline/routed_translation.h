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

// The languages of a call, and the models that it may use.
struct RoutingOptions {
  std::string path;  // names the call's options in errors: "options"
  // The names that the call uses. A source of "auto" is detected in each text.
  std::optional<std::string> source, target;
  bool task = false;                // the call names a task, not languages
  bool texts_only = false;          // it asks for nothing else
  std::vector<ModelHandle> models;  // the call's first, then others
  std::string pivot;                // BCP 47; empty: none
  std::optional<MarkupFormat> format;

  // Returns the options of each step of a route.
  std::function<absl::StatusOr<std::vector<TranslationOptions>>(
      const TranslationRoute& route)>
      options_of;
  // If languages are detected, called with the first model of the call's first
  // text. An error ends the call. May be null.
  std::function<absl::Status(const ModelHandle& model)> on_first_model =
      nullptr;
};

// A translated input.
struct RoutedText {
  TranslatedText text;
  // The options of the last model; null if the text came back unchanged.
  const TranslationOptions* last = nullptr;
  std::vector<ReportedStep> route;  // empty if the server had no choice
  // The languages detected for "auto", likeliest first. If none was detected,
  // one guess of 0 %.
  std::vector<LanguageGuess> detected;
};

// Translates the inputs of a call along paths: one path for all inputs, or one
// for each source language that is detected.
//
// Used in the same way as Pipeline. Prepare may run in one thread at a time;
// AddResult and Result may run beside it, for different jobs.
class RoutedTranslation {
 public:
  struct Job : TranslationPath::Job {
    const TranslationPath* path =
        nullptr;  // null: the text comes back unchanged
    std::vector<LanguageGuess> detected = {};
  };

  static absl::StatusOr<RoutedTranslation> Create(RoutingOptions options);

  // True if all inputs take the same path.
  bool same_for_all() const { return path_ != nullptr; }
  // The first model of that path.
  const ModelHandle& first_model() const { return first_model_; }

  // Compiles patterns and tokenizes terms; slow. Call it once, before Prepare.
  // If languages are detected, Prepare does this for each source language
  // instead.
  absl::Status Compose();
  absl::StatusOr<Job> Prepare(const TranslationInput& input);
  absl::Status AddResult(RequestResult result, Job* job) const;
  RoutedText Result(Job job) const;

 private:
  explicit RoutedTranslation(RoutingOptions options)
      : options_(std::move(options)),
        router_(options_.models, options_.pivot) {}

  bool detects() const { return options_.source == "auto"; }
  // Returns the path of a route, which is composed once for all texts of its
  // source language.
  absl::StatusOr<const TranslationPath*> PathOf(const TranslationRoute& route);
  absl::StatusOr<TranslationPath> MakePath(const TranslationRoute& route,
                                           bool report) const;
  // Detects the language of an input, and sets the job's path. `plain` is the
  // text that people read.
  absl::Status ChoosePath(const std::string& plain, const std::string& path,
                          Job* job);

  // True if the input comes back as it is, since the call names one language
  // twice.
  bool StaysUnchanged(const TranslationInput& input) const {
    return one_language_ && input.text && input.prefix.empty();
  }

  RoutingOptions options_;
  TranslationRouter router_;
  // The call's source and target are one language, and it asks for texts only.
  bool one_language_ = false;
  // The path of all inputs. Null if languages are detected, and if no model
  // has the one language.
  std::unique_ptr<TranslationPath> path_;
  ModelHandle first_model_;
  // If languages are detected: the paths by source language, and the route of
  // texts whose language cannot be detected.
  std::map<std::string, std::unique_ptr<TranslationPath>> paths_;
  TranslationRoute fallback_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_ROUTED_TRANSLATION_H_
