#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_PLACEHOLDER_SPACES_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_PLACEHOLDER_SPACES_STAGE_H_

#include "server/translation/pipeline/stage.h"

namespace trivium {

// Puts a space between a placeholder and a word that the model has joined, if
// the source has white space there: "<x1> Kravitz" is no "<x1>Kravitz". A
// genitive's "s" stays. Works on what the model writes.
class PlaceholderSpacesStage : public Stage {
 public:
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_PLACEHOLDER_SPACES_STAGE_H_
