#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_LETTER_CASE_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_LETTER_CASE_STAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "server/translation/letter_case.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// Lets the model read sentences in capitals and titles in normal case. Their
// translations get the case back: capitals, and in English title case. Other
// languages write titles in normal case, but for the names in them. A word by
// itself that comes back as it was ("Quarter", "Termine") is read again in
// small letters, or with an article.
class LetterCaseStage : public Stage {
 public:
  explicit LetterCaseStage(const TranslationOptions& options);

  absl::Status Before(const TranslationJob& job,
                      Attempt* attempt) const override;
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;
  std::optional<Attempt> Retry(const TranslationJob& job,
                               const Attempt& attempt, int losses,
                               const TranslationCandidate& best) const override;

 private:
  // The other form of the part, if that is a word by itself.
  std::optional<LetterCases::OtherForm> FormIfCopied(
      const TranslationJob& job, const Attempt& attempt) const;

  LetterCases cases_;
  bool titles_;    // the target language writes titles with capitals
  bool articles_;  // words may be read with an article
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_LETTER_CASE_STAGE_H_
