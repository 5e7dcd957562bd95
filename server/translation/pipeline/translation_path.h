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

// A step of a path, as the client is told.
struct ReportedStep {
  std::string model;
  std::string revision;
  std::string source_language;  // BCP 47; empty: not known
  std::string target_language;
};

// How texts of a language are translated: by one pipeline, or by two with the
// pivot language between them. Both have the same protected spans and the same
// glossary, whose terms the last model writes.
//
// Used as a Pipeline is, once it is composed. Thread-safe for jobs that differ.
class TranslationPath {
 public:
  struct Job : TranslationJob {
    size_t step = 0;                         // index of the pipeline at work
    std::vector<TranslatedText> first = {};  // [text.parts] of step 0, if over
  };

  // `steps`: the options of one model or two; `reported`: empty if the server
  // had no choice.
  TranslationPath(std::vector<TranslationOptions> steps,
                  std::vector<ReportedStep> reported)
      : steps_(std::move(steps)), reported_(std::move(reported)) {}

  // Compiles patterns and tokenizes terms, which takes long, and makes the
  // pipelines. Once, before anything is prepared.
  absl::Status Compose();

  const std::vector<ReportedStep>& reported() const { return reported_; }
  // The options of the model that writes the translations.
  const TranslationOptions& last() const { return pipelines_.back().options(); }

  absl::StatusOr<Job> Prepare(const TranslationInput& input,
                              std::optional<Markup> markup) const;
  absl::Status Take(RequestResult result, Job* job) const;
  TranslatedText Result(Job job) const;

 private:
  // Starts the next pipeline if the one at work is done.
  absl::Status Advance(Job* job) const;

  std::vector<TranslationOptions> steps_;  // until they are composed
  std::vector<ReportedStep> reported_;
  std::vector<Pipeline> pipelines_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TRANSLATION_PATH_H_
