#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_CHECKS_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_CHECKS_STAGE_H_

#include <cstdint>
#include <optional>
#include <set>

#include "server/translation/negation_check.h"
#include "server/translation/number_check.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/translation_checks.h"

namespace trivium {

// Checks translations. If the best hypothesis of a part's best candidate has
// findings, the part is translated a second time with the decoding options of
// checks.second_try, if the call has them.
class ChecksStage : public Stage {
 public:
  explicit ChecksStage(const TranslationOptions& options);

  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;
  std::optional<Attempt> Retry(const TranslationJob& job,
                               const Attempt& attempt, int losses,
                               const TranslationCandidate& best) const override;

 private:
  bool FindsIn(Check check, std::string_view source,
               const TranslatedText& translation,
               const TranslatedHypothesis& hypothesis) const;

  std::set<Check> kinds_;
  std::optional<LanguageCheck> language_;  // the target's, if CLD2 knows it
  std::optional<LanguageCheck> source_language_;  // if it is another
  std::optional<NumberCheck> numbers_;  // if it knows both languages' numbers
  std::optional<NegationCheck> negation_;  // between English and German
  int32_t unknown_id_ = -1;
  bool second_try_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_CHECKS_STAGE_H_
