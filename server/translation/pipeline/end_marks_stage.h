#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_END_MARKS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_END_MARKS_STAGE_H_

#include "server/translation/pipeline/stage.h"

namespace trivium {

// Gives a translation the marks that its source ends with, if these are
// several or an ellipsis: "Loading…", "Stop!!!", "Really?!". Vocabularies have
// no "…", and models rarely count. Quotes and brackets may stand behind the
// marks. Works on what the model writes.
class EndMarksStage : public Stage {
 public:
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_END_MARKS_STAGE_H_
