#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_LANGUAGE_TAGS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_LANGUAGE_TAGS_STAGE_H_

#include <string>
#include <utility>

#include "server/translation/pipeline/stage.h"

namespace trivium {

// Lets the lang attributes of HTML and XML that name the source language follow
// the target language.
class LanguageTagsStage : public Stage {
 public:
  LanguageTagsStage(MarkupFormat format, std::string source, std::string target)
      : xml_(format == MarkupFormat::kXml),
        source_(std::move(source)),
        target_(std::move(target)) {}

  absl::Status Open(TranslationJob* job) const override;

 private:
  const bool xml_;
  const std::string source_, target_;  // BCP 47
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_LANGUAGE_TAGS_STAGE_H_
