#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TARGET_LANGUAGE_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TARGET_LANGUAGE_STAGE_H_

#include <optional>
#include <utility>

#include "server/translation/pipeline/stage.h"
#include "server/translation/translation_checks.h"

namespace trivium {

// Leaves sentences as they are that are surely in the target language already.
// For calls that name no source language.
class TargetLanguageStage : public Stage {
 public:
  explicit TargetLanguageStage(LanguageCheck target)
      : target_(std::move(target)) {}

  std::optional<TextStage> Keeps(const TranslationJob& job,
                                 std::string_view sentence) const override;

 private:
  const LanguageCheck target_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TARGET_LANGUAGE_STAGE_H_
