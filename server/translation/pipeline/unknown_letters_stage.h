#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_UNKNOWN_LETTERS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_UNKNOWN_LETTERS_STAGE_H_

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "server/translation/pipeline/known_characters.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/target_letters.h"

namespace trivium {

// Protects words with letters that the vocabulary of a model lacks, such as
// "Dvořák" or "Москва": the model would read bytes, and write others. Names in
// letters of the target language that the source language lacks, such as
// "Müller" in English, are protected, too (TargetLetters).
//
// A run of such words is one span, and so are the rare words with a capital
// behind one, as in "Zoë Kravitz". Raised characters that the model would read
// as plain ones ("m²", "CO₂", "½") are protected, too.
//
// Placeholders measured better with the embedded model than what else a model
// might read for a name: than "Dvorak", which it often writes in another way,
// and than a name that it knows, such as "Tom", of which it loses the second
// in a sentence.
class UnknownLettersStage : public Stage {
 public:
  // `models`: the vocabularies of all models that the text goes through.
  // `target_letters` may be null.
  UnknownLettersStage(
      std::vector<std::shared_ptr<const KnownCharacters>> models,
      std::shared_ptr<const TargetLetters> target_letters)
      : models_(std::move(models)),
        target_letters_(std::move(target_letters)) {}

  absl::Status Open(TranslationJob* job) const override;

 private:
  // Returns the words with unknown letters, runs of them as one span.
  std::vector<TextSpan> Find(std::string_view text) const;
  bool Knows(char32_t c) const;
  bool KnowsWord(std::string_view word) const;
  // True if a word begins with a capital and has one of `target_letters`.
  bool IsOfTarget(std::string_view word) const;
  // Returns where a name ends whose first words end at `end`.
  size_t EndOfName(std::string_view text, size_t end) const;

  const std::vector<std::shared_ptr<const KnownCharacters>> models_;
  const std::shared_ptr<const TargetLetters> target_letters_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_UNKNOWN_LETTERS_STAGE_H_
