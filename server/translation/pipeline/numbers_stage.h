#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_NUMBERS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_NUMBERS_STAGE_H_

#include <utility>
#include <vector>

#include "server/translation/number_check.h"
#include "server/translation/pipeline/stage.h"

namespace trivium {

// Brings numbers through a translation. Separators are written as the target
// language writes them. If numbers are missing or wrong, the part is asked
// again with placeholders for them, a few times at most, in ways that
// Attempt::hold tells:
//   1  for the missing numbers
//   2  for all numbers
//   3  for the missing numbers, in another style
// Works on what the model reads and writes, where protected spans are still
// placeholders of another style.
class NumbersStage : public Stage {
 public:
  explicit NumbersStage(NumberCheck numbers) : numbers_(std::move(numbers)) {}

  absl::Status Before(const TranslationJob& job,
                      Attempt* attempt) const override;
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;
  std::optional<Attempt> Retry(const TranslationJob& job,
                               const Attempt& attempt, int losses,
                               const TranslationCandidate& best) const override;

 private:
  // Puts the numbers of `attempt`, which are held, back into its hypotheses.
  void Restore(const TranslationJob& job, const Attempt& attempt,
               TranslationCandidate* candidate) const;

  const NumberCheck numbers_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_NUMBERS_STAGE_H_
