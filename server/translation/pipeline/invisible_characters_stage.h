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
// vocabulary lacks become " " and "-", and control characters " ". Prices lose
// the marks for no cents: "5,- €" becomes "5 €".
class InvisibleCharactersStage : public Stage {
 public:
  // `models`: the vocabularies of all models that the text goes through.
  // `prices`: they may change; else the call's own patterns look for them.
  explicit InvisibleCharactersStage(
      std::vector<std::shared_ptr<const KnownCharacters>> models,
      bool prices = true)
      : models_(std::move(models)), prices_(prices) {}

  absl::Status Open(TranslationJob* job) const override;

 private:
  const std::vector<std::shared_ptr<const KnownCharacters>> models_;
  const bool prices_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_INVISIBLE_CHARACTERS_STAGE_H_
