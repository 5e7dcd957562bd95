#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_WORDS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_WORDS_STAGE_H_

#include <memory>
#include <utility>

#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// Tells the words of source and hypotheses: how sure the model was of each, and
// which of the source it attends to (WordAlignment). Of what the model reads
// and writes, so there are no placeholders and no markup beside it.
class WordsStage : public Stage {
 public:
  explicit WordsStage(const TranslationOptions& options)
      : model_(options.model) {}

  absl::Status Before(const TranslationJob& job,
                      Attempt* attempt) const override;
  absl::Status Ask(const TranslationJob& job, const Attempt& attempt,
                   Reading* reading, Request* request) const override;
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;

 private:
  const std::shared_ptr<const TranslatingModel> model_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_WORDS_STAGE_H_
