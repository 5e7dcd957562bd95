#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_MARKUP_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_MARKUP_STAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// The markup of a text. INVALID_ARGUMENT: it is not what the format says.
// `path` of the input in errors.
absl::StatusOr<Markup> ParseMarkup(MarkupFormat format, const std::string& text,
                                   const std::string& path);

// Texts with markup. The model reads what people read, which the job's text
// becomes; tags go back into translations where attention finds their words.
class MarkupStage : public Stage {
 public:
  // `feeds_pivot`: another model reads the translations, so that tags stay out.
  MarkupStage(const TranslationOptions& options, bool feeds_pivot)
      : format_(*options.format),
        check_alive_(options.check_alive),
        feeds_pivot_(feeds_pivot) {}

  absl::Status Open(TranslationJob* job) const override;
  absl::Status Before(const TranslationJob& job,
                      Attempt* attempt) const override;
  absl::Status Ask(const TranslationJob& job, const Attempt& attempt,
                   Reading* reading, Request* request) const override;
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;

 private:
  const MarkupFormat format_;
  const AliveCheck check_alive_;
  const bool feeds_pivot_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_MARKUP_STAGE_H_
