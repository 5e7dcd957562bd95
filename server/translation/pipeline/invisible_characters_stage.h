#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_INVISIBLE_CHARACTERS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_INVISIBLE_CHARACTERS_STAGE_H_

#include <memory>
#include <utility>
#include <vector>

#include "server/translation/pipeline/known_characters.h"
#include "server/translation/pipeline/stage.h"

namespace trivium {

// Leaves invisible characters, such as soft hyphens, out of the job's text, so
// that results are those of the text without them. Spaces and hyphens that a
// vocabulary lacks become " " and "-", and control characters " ".
class InvisibleCharactersStage : public Stage {
 public:
  // `models`: the vocabularies of all models that the text goes through.
  explicit InvisibleCharactersStage(
      std::vector<std::shared_ptr<const KnownCharacters>> models)
      : models_(std::move(models)) {}

  absl::Status Open(TranslationJob* job) const override;

 private:
  const std::vector<std::shared_ptr<const KnownCharacters>> models_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_INVISIBLE_CHARACTERS_STAGE_H_
