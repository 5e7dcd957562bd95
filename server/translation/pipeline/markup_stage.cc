#include "server/translation/pipeline/markup_stage.h"

#include <utility>
#include <vector>

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// The part has tags whose places follow from words, so from attention.
bool NeedsWords(const TranslationJob& job, const Attempt& attempt) {
  const Markup& markup = *job.markup;
  return markup.NeedsWords(markup.In(job.part(attempt).span));
}

}  // namespace

absl::StatusOr<Markup> ParseMarkup(MarkupFormat format, const std::string& text,
                                   const std::string& path) {
  absl::StatusOr<Markup> markup = Markup::Parse(format, text);
  if (!markup.ok()) {
    return InvalidField(path + ".text", std::string(markup.status().message()));
  }
  return markup;
}

absl::Status MarkupStage::Open(TranslationJob* job) const {
  if (!job->markup) {
    TRIVIUM_ASSIGN_OR_RETURN(job->markup,
                             ParseMarkup(format_, job->text.text, job->path));
  }
  job->text.text = job->markup->plain();
  // The model reads placeholders for pieces that are not translated, too.
  job->protected_spans = job->markup->opaque();
  return absl::OkStatus();
}

absl::Status MarkupStage::Before(const TranslationJob& job,
                                 Attempt* attempt) const {
  if (NeedsWords(job, *attempt)) attempt->needs_tokens = true;
  return absl::OkStatus();
}

absl::Status MarkupStage::Ask(const TranslationJob& job, const Attempt& attempt,
                              Reading* reading, Request* request) const {
  if (NeedsWords(job, attempt)) reading->aligned = true;
  return absl::OkStatus();
}

absl::Status MarkupStage::After(const TranslationJob& job,
                                const Attempt& attempt,
                                TranslationCandidate* candidate) const {
  const Markup& markup = *job.markup;
  TranslatedText& translation = candidate->translation;
  const Markup::Sentence sentence = markup.In(job.part(attempt).span);
  for (size_t i = 0; i < translation.hypotheses.size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(check_alive_());
    if (feeds_pivot_) break;
    std::string& text = translation.hypotheses[i].text;
    text = markup.Place(sentence, text, candidate->alignments[i]);
  }
  // Pieces that are not translated have their places now.
  std::erase_if(translation.lost, [&markup](const LostSpan& lost) {
    return markup.IsOpaque(lost.source.begin);
  });
  const auto to_text = [&markup](auto* all) {
    for (auto& one : *all) one.source = markup.InText(one.source);
  };
  to_text(&translation.lost);
  to_text(&translation.findings);
  to_text(&translation.term_uses);
  return absl::OkStatus();
}

}  // namespace trivium
