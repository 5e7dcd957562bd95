#include "server/translation/pipeline/target_language_stage.h"

namespace trivium {

std::optional<TextStage> TargetLanguageStage::Keeps(
    const TranslationJob& job, std::string_view sentence) const {
  if (!job.prefix.empty() || sentence.size() > kLongestSentence ||
      !target_.IsSurely(sentence)) {
    return std::nullopt;
  }
  return TextStage::kTargetLanguage;
}

}  // namespace trivium
