#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_GLOSSARY_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_GLOSSARY_STAGE_H_

#include <memory>
#include <utility>

#include "base/alive_check.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/terminology.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// The terms of a call's glossary: the search of a part must write the targets
// of its terms, and the result tells which hypotheses miss some.
//
// With a pivot language only the last model writes targets. The first one is
// aligned, so that the last one knows which of its tokens stand for a term; it
// writes those terms, too, that the first model has lost.
class GlossaryStage : public Stage {
 public:
  GlossaryStage(std::shared_ptr<const Terminology> terminology,
                const TranslationOptions& options, bool feeds_pivot)
      : terminology_(std::move(terminology)),
        max_beam_size_(options.max_beam_size),
        check_alive_(options.check_alive),
        feeds_pivot_(feeds_pivot) {}

  absl::Status Before(const TranslationJob& job,
                      Attempt* attempt) const override;
  absl::Status Ask(const TranslationJob& job, const Attempt& attempt,
                   Reading* reading, Request* request) const override;
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;

 private:
  const std::shared_ptr<const Terminology> terminology_;
  const int max_beam_size_;
  const AliveCheck check_alive_;
  const bool feeds_pivot_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_GLOSSARY_STAGE_H_
