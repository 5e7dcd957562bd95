#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_PATH_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_PATH_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/translation/pipeline/pipeline.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// One step of a path, as reported to the client.
struct ReportedStep {
  std::string model;
  std::string revision;
  std::string source_language;  // BCP 47; empty: unknown
  std::string target_language;
};

// Translates the texts of one source language with one pipeline, or with two
// and the pivot language between them. Both pipelines share the protected spans
// and the glossary; only the last model writes the glossary's terms.
//
// Used in the same way as Pipeline, after Compose. Thread-safe for different
// jobs.
class TranslationPath {
 public:
  struct Job : TranslationJob {
    size_t step = 0;                         // index of the current pipeline
    std::vector<TranslatedText> first = {};  // [text.parts] of step 0, if done
  };

  // `steps` has the options of one model or of two. `reported` is empty if the
  // server had no choice of models.
  TranslationPath(std::vector<TranslationOptions> steps,
                  std::vector<ReportedStep> reported)
      : steps_(std::move(steps)), reported_(std::move(reported)) {}

  // Compiles patterns, tokenizes terms and makes the pipelines; slow. Call it
  // once, before Prepare.
  absl::Status Compose();

  const std::vector<ReportedStep>& reported() const { return reported_; }
  // The options of the model that writes the final translations.
  const TranslationOptions& last() const { return pipelines_.back().options(); }

  absl::StatusOr<Job> Prepare(const TranslationInput& input,
                              std::optional<Markup> markup) const;
  absl::Status AddResult(RequestResult result, Job* job) const;
  TranslatedText Result(Job job) const;

 private:
  // Starts the next pipeline if the current one is done.
  absl::Status Advance(Job* job) const;

  std::vector<TranslationOptions> steps_;  // moved out by Compose
  std::vector<ReportedStep> reported_;
  std::vector<Pipeline> pipelines_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_PATH_H_
