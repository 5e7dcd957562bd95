#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_WHOLE_CHARACTERS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_WHOLE_CHARACTERS_STAGE_H_

#include "server/translation/pipeline/stage.h"

namespace trivium {

// Removes U+FFFD from translations whose source has none. Models with byte
// pieces write it if they stop within a character. Checks see it before.
class WholeCharactersStage : public Stage {
 public:
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_WHOLE_CHARACTERS_STAGE_H_
