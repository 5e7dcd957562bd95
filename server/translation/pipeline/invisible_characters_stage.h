#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_INVISIBLE_CHARACTERS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_INVISIBLE_CHARACTERS_STAGE_H_

#include <memory>
#include <utility>
#include <vector>

#include "server/translation/pipeline/known_characters.h"
#include "server/translation/pipeline/stage.h"

namespace trivium {

struct InvisibleCharactersOptions {
  bool prices = true;  // else the call's own patterns look for them
  bool labels = true;
  bool feeds_pivot = false;  // another model reads the translation
};

// Leaves invisible characters, such as soft hyphens, out of the job's text, so
// that results are those of the text without them. Spaces and hyphens that a
// vocabulary lacks become " " and "-", and control characters " ". Prices lose
// the marks for no cents: "5,- €" becomes "5 €". Labels lose the mark of a key
// (mnemonics.h). Unusual spaces come back in the translation where it is clear
// that they belong there (unusual_spaces.h), and so does the mark of a key.
class InvisibleCharactersStage : public Stage {
 public:
  // `models`: the vocabularies of all models that the text goes through.
  explicit InvisibleCharactersStage(
      std::vector<std::shared_ptr<const KnownCharacters>> models,
      InvisibleCharactersOptions options = {})
      : models_(std::move(models)), options_(options) {}

  absl::Status Open(TranslationJob* job) const override;
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;

 private:
  // Returns the label's mark of a key, or an empty span.
  TextSpan KeyMark(const TranslationJob& job) const;

  const std::vector<std::shared_ptr<const KnownCharacters>> models_;
  const InvisibleCharactersOptions options_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_INVISIBLE_CHARACTERS_STAGE_H_
