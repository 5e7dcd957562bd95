#include "server/translation/pipeline/words_stage.h"

#include <algorithm>

namespace trivium {

absl::Status WordsStage::Before(const TranslationJob& job,
                                Attempt* attempt) const {
  attempt->needs_tokens = true;
  return absl::OkStatus();
}

absl::Status WordsStage::Ask(const TranslationJob& job, const Attempt& attempt,
                             Reading* reading, Request* request) const {
  if (!reading->words) {
    reading->words.emplace(job.part(attempt).span.Of(job.text.text),
                           reading->input->tokens,
                           model_->direction().text_prefix.size());
  }
  return absl::OkStatus();
}

absl::Status WordsStage::After(const TranslationJob& job,
                               const Attempt& attempt,
                               TranslationCandidate* candidate) const {
  const Reading& reading = attempt.readings[0];
  const RequestResult& output = reading.output;
  TranslatedText& translation = candidate->translation;
  const size_t begin = job.part(attempt).span.begin;
  for (const TextSpan& word : reading.words->source_words()) {
    translation.source_words.push_back({begin + word.begin, begin + word.end});
  }
  const size_t hypotheses =
      std::min(output.hypotheses.size(), output.cross_attention.size());
  for (size_t i = 0; i < hypotheses; ++i) {
    TranslatedHypothesis& hypothesis = translation.hypotheses[i];
    hypothesis.words = reading.words->WordsOf(
        hypothesis.text, output.hypotheses[i], output.cross_attention[i],
        *model_->tokenizer(), reading.stop_ids);
  }
  return absl::OkStatus();
}

}  // namespace trivium
