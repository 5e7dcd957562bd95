#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_PART_CUTTER_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_PART_CUTTER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/translation/pipeline/token_counts.h"
#include "server/translation/pipeline/translation_job.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/sentences.h"

namespace trivium {

// INVALID_ARGUMENT for a text of more sentences than a call may have. `path` of
// the input.
absl::Status TooManySentences(const std::string& path, size_t max_parts);

// Cuts a job's text into parts that the model can read: sentences, and those
// that are too long at clauses, again and again.
class PartCutter {
 public:
  // Asks the model for the last part of the job. False: the part is longer than
  // the model reads, and `divides` allows to cut it.
  using AskLastPart = std::function<absl::StatusOr<bool>(bool divides)>;

  // `splitter`: null if texts are not split; `given`: the options of the call
  // and of the input. All outlive the cutter.
  PartCutter(const TranslationOptions& options,
             const SentenceSplitter* splitter, OptionSet given,
             TranslationJob* job, AskLastPart ask)
      : options_(options),
        splitter_(splitter),
        given_(given),
        job_(*job),
        ask_(std::move(ask)) {}

  // Fills job->text.parts, and asks for each.
  absl::Status Cut();

 private:
  // The text's sentences; unless it is split, the text itself, or the lines of
  // a text with markup.
  absl::StatusOr<std::vector<TextSpan>> Sentences() const;
  // Adds the span as a part, or as several; nothing if there is nothing to
  // translate. `counts`: the tokens of a sentence that is far too long, else
  // null.
  absl::Status Add(TextSpan span, bool cut, const TokenCounts* counts);
  // Adds the span in two, cut at `middle`, a byte of the text.
  absl::Status AddHalves(TextSpan span, size_t middle,
                         const TokenCounts* counts);
  bool IsWorthAsking(TextSpan span,
                     const std::vector<TextSpan>& protected_spans) const;
  absl::StatusOr<TokenCounts> CountTokens(TextSpan span) const;
  absl::Status CheckNotAboutOneSentence() const;
  absl::Status CheckCount(size_t parts) const;

  const TranslationOptions& options_;
  const SentenceSplitter* const splitter_;
  const OptionSet given_;
  TranslationJob& job_;
  const AskLastPart ask_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_PART_CUTTER_H_
