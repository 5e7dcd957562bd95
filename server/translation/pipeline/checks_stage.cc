#include "server/translation/pipeline/checks_stage.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace trivium {
namespace {

// All checks, in the order in which findings of a hypothesis are reported.
constexpr Check kAll[] = {Check::kRepetition,        Check::kSourceCopied,
                          Check::kLengthRatio,       Check::kTruncated,
                          Check::kUnknownCharacters, Check::kWrongLanguage,
                          Check::kNumbers,           Check::kNegation};

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void AddOnce(Check check, TextSpan source, size_t hypothesis,
             std::vector<Finding>* findings) {
  for (const Finding& other : *findings) {
    if (other.check == check && other.hypothesis == hypothesis) return;
  }
  findings->push_back({check, source, hypothesis});
}

}  // namespace

ChecksStage::ChecksStage(const TranslationOptions& options)
    : kinds_(options.checks->kinds.begin(), options.checks->kinds.end()),
      language_(LanguageCheck::For(options.model->direction().target_language)),
      numbers_(NumberCheck::For(options.model->direction().source_language,
                                options.model->direction().target_language)),
      negation_(NegationCheck::For(options.model->direction().source_language,
                                   options.model->direction().target_language)),
      second_try_(options.checks->second_try.has_value()) {
  // Languages that CLD2 hardly tells apart are one.
  const Direction& direction = options.model->direction();
  if (language_ && !language_->IsSame(direction.source_language)) {
    source_language_ = LanguageCheck::For(direction.source_language);
  }
  if (kinds_.empty()) {
    kinds_.insert(std::begin(kAll), std::end(kAll));
    if (!language_) kinds_.erase(Check::kWrongLanguage);
    if (!negation_) kinds_.erase(Check::kNegation);
  }
  if (const Tokenizer* const tokenizer = options.model->tokenizer()) {
    unknown_id_ = tokenizer->special_token_ids().unknown;
  }
}

absl::Status ChecksStage::After(const TranslationJob& job,
                                const Attempt& attempt,
                                TranslationCandidate* candidate) const {
  TranslatedText& translation = candidate->translation;
  const TextSpan source = job.part(attempt).span;
  std::vector<Finding>* const findings = &translation.findings;
  // The text does not show unknown tokens; the ids do.
  if (unknown_id_ >= 0 && kinds_.contains(Check::kUnknownCharacters)) {
    for (const Reading& reading : attempt.readings) {
      const bool read = Contains(reading.input->source.ids, unknown_id_);
      const std::vector<Hypothesis>& hypotheses = reading.output.hypotheses;
      for (size_t h = 0; h < hypotheses.size(); ++h) {
        if (read || Contains(hypotheses[h].ids, unknown_id_)) {
          AddOnce(Check::kUnknownCharacters, source, h, findings);
        }
      }
    }
  }
  // The model was not asked about a blank part.
  if (attempt.readings.empty()) return absl::OkStatus();
  const std::string_view source_text = source.Of(job.text.text);
  for (size_t h = 0; h < translation.hypotheses.size(); ++h) {
    for (const Check check : kAll) {
      if (kinds_.contains(check) &&
          FindsIn(check, source_text, translation, translation.hypotheses[h])) {
        AddOnce(check, source, h, findings);
      }
    }
  }
  return absl::OkStatus();
}

bool ChecksStage::FindsIn(Check check, std::string_view source,
                          const TranslatedText& translation,
                          const TranslatedHypothesis& hypothesis) const {
  const std::string& text = hypothesis.text;
  switch (check) {
    case Check::kRepetition:
      return RepeatsItself(source, text);
    case Check::kSourceCopied:
      return CopiesSource(source, text);
    case Check::kLengthRatio:
      return HasUnlikelyLength(source, text);
    case Check::kTruncated:
      return hypothesis.reason == FinishReason::kLength ||
             translation.truncated_tokens > 0;
    case Check::kUnknownCharacters:
      return HasReplacementCharacters(source, text);
    case Check::kWrongLanguage:
      return (language_ && language_->IsAnother(text)) ||
             (source_language_ && source_language_->IsSurely(text));
    case Check::kNumbers:
      return numbers_ && !numbers_->Compare(source, text).empty();
    case Check::kNegation:
      return negation_ && negation_->Differs(source, text);
  }
  return false;
}

std::optional<Attempt> ChecksStage::Retry(
    const TranslationJob& job, const Attempt& attempt, int losses,
    const TranslationCandidate& best) const {
  if (!second_try_ || attempt.second_try || best.findings() == 0) {
    return std::nullopt;
  }
  // A part with protected spans tries all placeholder styles again, from the
  // first on. Another part is read as before.
  Attempt next;
  if (job.read_part(attempt).protected_spans.empty()) next = attempt.Again();
  next.part = attempt.part;
  next.second_try = true;
  return next;
}

}  // namespace trivium
