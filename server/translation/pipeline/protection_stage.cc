#include "server/translation/pipeline/protection_stage.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/part_cutter.h"

namespace trivium {

absl::Status ProtectionStage::Open(TranslationJob* job) const {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<TextSpan> found,
                           protection_->Find(job->text.text, check_alive_));
  // Spans of other stages are opaque pieces of markup.
  if (job->markup) {
    AddProtectedSpans(found, job);
  } else {
    job->protected_spans = std::move(found);
  }
  return absl::OkStatus();
}

absl::Status ProtectionStage::Before(const TranslationJob& job,
                                     Attempt* attempt) const {
  const TextParts& text = job.read();
  const TextParts::Part& part = job.read_part(*attempt);
  if (part.protected_spans.empty()) return absl::OkStatus();
  for (; attempt->way < Attempt::kInPieces; ++attempt->way) {
    std::optional<std::string> read = WithPlaceholders(
        text.text, part.span, part.protected_spans, attempt->way);
    if (!read) continue;
    Reading& reading = attempt->readings[0];
    reading.text = *std::move(read);
    if (attempt->needs_tokens) {
      reading.placeholders =
          RestoreSpans(reading.text, text.ProtectedTexts(part), attempt->way)
              .places;
    }
    return absl::OkStatus();
  }
  return ReadInPieces(job, attempt);
}

absl::Status ProtectionStage::ReadInPieces(const TranslationJob& job,
                                           Attempt* attempt) const {
  if (!pieces_) {
    return InvalidField(job.path + ".text",
                        "has <x1>, {1} and %1, so no placeholder is left; "
                        "protect those, too, or leave out protect.pieces");
  }
  const TextParts::Part& part = job.read_part(*attempt);
  const std::string& text = job.read().text;
  const std::vector<TextSpan> pieces =
      WordsBetween(text, part.span, part.protected_spans);
  if (pieces.empty()) {
    return InvalidField(job.path + ".text",
                        "has a sentence without words between protected spans");
  }
  if (job.requests.size() + pieces.size() > max_parts_) {
    return TooManySentences(job.path, max_parts_);
  }
  attempt->readings.clear();
  for (const TextSpan& piece : pieces) {
    attempt->readings.push_back({piece, std::string(piece.Of(text))});
  }
  return absl::OkStatus();
}

absl::Status ProtectionStage::After(const TranslationJob& job,
                                    const Attempt& attempt,
                                    TranslationCandidate* candidate) const {
  const TextParts::Part& read = job.read_part(attempt);
  if (read.protected_spans.empty()) return absl::OkStatus();
  const SpanProtection::Part part = {job.read().ProtectedTexts(read),
                                     job.origins(attempt)};
  if (attempt.in_pieces()) {
    return protection_->CheckPieces(part, candidate->pieces, check_alive_,
                                    &candidate->translation,
                                    &candidate->losses);
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::vector<std::vector<Restored::Place>> places,
      protection_->Restore(part, attempt.way, check_alive_,
                           &candidate->translation, &candidate->losses));
  for (size_t i = 0; i < places.size(); ++i) {
    Alignment& alignment = candidate->alignments[i];
    alignment = WithRestored(std::move(alignment), places[i], part.origins);
  }
  return absl::OkStatus();
}

std::optional<Attempt> ProtectionStage::Retry(
    const TranslationJob& job, const Attempt& attempt, int losses,
    const TranslationCandidate& best) const {
  if (losses == 0 || attempt.in_pieces()) return std::nullopt;
  Attempt next;
  next.part = attempt.part;
  next.way = attempt.way + 1;
  next.second_try = attempt.second_try;
  return next;
}

}  // namespace trivium
