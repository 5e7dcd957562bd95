#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_EMOJI_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_EMOJI_STAGE_H_

#include <utility>

#include "base/alive_check.h"
#include "server/translation/pipeline/stage.h"

namespace trivium {

// Protects emoji and emoticons, so that each comes through once and whole. A
// row of emoji is one span. The model reads placeholders within sentences, and
// nothing of the emoji at their ends (part_cutter.h).
class EmojiStage : public Stage {
 public:
  explicit EmojiStage(AliveCheck check_alive)
      : check_alive_(std::move(check_alive)) {}

  absl::Status Open(TranslationJob* job) const override;

 private:
  const AliveCheck check_alive_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_EMOJI_STAGE_H_
