#include "server/translation/pipeline/glossary_stage.h"

#include "base/status.h"

namespace trivium {

absl::Status GlossaryStage::Before(const TranslationJob& job,
                                   Attempt* attempt) const {
  attempt->needs_tokens = true;
  return absl::OkStatus();
}

absl::Status GlossaryStage::Ask(const TranslationJob& job,
                                const Attempt& attempt, Reading* reading,
                                Request* request) const {
  if (!reading->terms) {
    const TextParts::Part& part = job.part(attempt);
    // A reading is of the call's text, or of the pivot text.
    const TextSpan span = job.pivot ? part.span : reading->span;
    // A piece must write only the terms that are its own.
    TRIVIUM_ASSIGN_OR_RETURN(
        reading->terms,
        terminology_->TermsOf({job.text.text, span, part.protected_spans},
                              reading->tokens, /*all=*/!attempt.in_pieces(),
                              check_alive_));
  }
  if (feeds_pivot_) {
    if (reading->terms->uses > 0) reading->aligned = true;
  } else {
    terminology_->Require(reading->terms->phrases, max_beam_size_,
                          &*request->decoding);
  }
  return absl::OkStatus();
}

absl::Status GlossaryStage::After(const TranslationJob& job,
                                  const Attempt& attempt,
                                  TranslationCandidate* candidate) const {
  // Nothing was asked for a blank part.
  if (feeds_pivot_ || attempt.readings.empty()) return absl::OkStatus();
  const TextParts::Part& part = job.part(attempt);
  return terminology_->Report({job.text.text, part.span, part.protected_spans},
                              check_alive_, &candidate->translation);
}

}  // namespace trivium
