#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_PART_CUTTER_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_PART_CUTTER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/translation/pipeline/token_counts.h"
#include "server/translation/pipeline/translation_job.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/sentences.h"

namespace trivium {

// INVALID_ARGUMENT: a text has more sentences than a call may have. `path`
// names the input.
absl::Status TooManySentences(const std::string& path, size_t max_parts);

// Cuts a job's text into parts that the model can read: into sentences, and
// those that are too long into clauses, again and again.
class PartCutter {
 public:
  // Makes the requests for the last part of the job. Returns false if the part
  // is longer than the model reads; only if `divides` allows cutting.
  using AskLastPart = std::function<absl::StatusOr<bool>(bool divides)>;

  // Says whether a sentence stays as it is.
  using Keep = std::function<bool(std::string_view sentence)>;

  // `splitter` is null if texts are not split; `given` has the options of the
  // call and of the input. The references must outlive the cutter.
  PartCutter(const TranslationOptions& options,
             const SentenceSplitter* splitter, OptionSet given,
             TranslationJob* job, AskLastPart ask, Keep keep)
      : options_(options),
        splitter_(splitter),
        given_(given),
        job_(*job),
        ask_(std::move(ask)),
        keep_(std::move(keep)) {}

  // Fills job->text.parts and makes the requests of each part.
  absl::Status Cut();

 private:
  // Returns the text's sentences. If texts are not split: the whole text, or
  // the lines of a text with markup.
  absl::StatusOr<std::vector<TextSpan>> Sentences() const;
  // True if the text stages treat the text.
  bool has_text_stages() const {
    return options_.text_stages && job_.prefix.empty();
  }
  // Returns the sentences, cut further at marks and links that separate items.
  std::vector<TextSpan> ItemsOf(const std::vector<TextSpan>& sentences) const;
  // Returns the span without the emoji at its ends that are no words of it.
  // They are protected, so they stay where they are. `spans` are its protected
  // spans; emoji that are left out are removed from them.
  TextSpan WithoutEmoji(TextSpan span, std::vector<TextSpan>* spans) const;
  // Adds the span as one part or several; adds none if nothing is to translate.
  // `counts` has the tokens of a sentence that is far too long; else null.
  absl::Status Add(TextSpan span, bool cut, const TokenCounts* counts);
  // Adds the span as two halves, cut at `middle`, a byte of the text.
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
  const Keep keep_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_PART_CUTTER_H_
