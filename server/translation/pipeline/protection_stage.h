#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_PROTECTION_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_PROTECTION_STAGE_H_

#include <memory>
#include <utility>

#include "base/alive_check.h"
#include "server/translation/pipeline/span_protection.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {

// Spans that come through a translation byte for byte: those that the call
// protects, and opaque pieces of markup. The model reads placeholders for them.
// If a hypothesis lacks one, or has it twice, the part is asked again with
// placeholders of the next style, and at last in pieces: only the words between
// the spans are translated, each run by itself.
class ProtectionStage : public Stage {
 public:
  ProtectionStage(std::shared_ptr<const SpanProtection> protection,
                  const TranslationOptions& options)
      : protection_(std::move(protection)),
        pieces_(!options.protect || options.protect->pieces),
        max_parts_(options.max_parts),
        check_alive_(options.check_alive) {}

  absl::Status Open(TranslationJob* job) const override;
  absl::Status Before(const TranslationJob& job,
                      Attempt* attempt) const override;
  absl::Status After(const TranslationJob& job, const Attempt& attempt,
                     TranslationCandidate* candidate) const override;
  std::optional<Attempt> Retry(const TranslationJob& job,
                               const Attempt& attempt, int losses,
                               const TranslationCandidate& best) const override;

 private:
  absl::Status ReadInPieces(const TranslationJob& job, Attempt* attempt) const;

  const std::shared_ptr<const SpanProtection> protection_;
  const bool pieces_;  // a part may be translated in pieces
  const size_t max_parts_;
  const AliveCheck check_alive_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_PROTECTION_STAGE_H_
