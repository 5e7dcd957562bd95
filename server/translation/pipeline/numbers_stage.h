#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_NUMBERS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_NUMBERS_STAGE_H_

#include <memory>
#include <utility>
#include <vector>

#include "server/translation/number_check.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// Brings numbers through a translation. Separators are written as the target
// language writes them. If numbers are missing or added, the part is asked
// again, and Attempt::hold tells how numbers are held:
//   1 .. kPlaceholderStyles  the missing ones, with placeholders of a style
//   the next                 the search must write the missing ones
//   kPlaceholderStyles more  all, with placeholders of a style
// Works on what the model reads and writes, where protected spans are
// placeholders, of another style than those of numbers.
class NumbersStage : public Stage {
 public:
  NumbersStage(NumberCheck numbers, const TranslationOptions& options)
      : numbers_(std::move(numbers)),
        model_(options.model),
        draws_(options.decoding.options.sample),
        max_beam_size_(options.max_beam_size) {}

  absl::Status Before(const TranslationJob& job,
                      Attempt* attempt) const override;
  absl::Status Ask(const TranslationJob& job, const Attempt& attempt,
                   Reading* reading, Request* request) const override;
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
  const std::shared_ptr<const TranslatingModel> model_;
  const bool draws_;  // such a search cannot be told what to write
  const int max_beam_size_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_NUMBERS_STAGE_H_
