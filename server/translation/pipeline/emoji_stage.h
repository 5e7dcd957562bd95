#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_EMOJI_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_EMOJI_STAGE_H_

#include "server/translation/pipeline/stage.h"

namespace trivium {

// Protects emoji, so that each comes through once and whole. A row of them is
// one span. The model reads placeholders within sentences, and nothing of the
// emoji at their ends (part_cutter.h).
class EmojiStage : public Stage {
 public:
  absl::Status Open(TranslationJob* job) const override;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_EMOJI_STAGE_H_
