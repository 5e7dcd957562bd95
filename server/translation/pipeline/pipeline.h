#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIPELINE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIPELINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/translation/pipeline/stage.h"
#include "server/translation/pipeline/translated_text.h"
#include "server/translation/pipeline/translation_job.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/sentences.h"

namespace trivium {

// Translates inputs by one model, through stages (stage.h). Requests come in
// rounds, since what a round made may have to be asked again:
//
//   job = pipeline.Prepare(input, std::nullopt)
//   while (!job.done()) {
//     submit job.requests, which are the caller's to take
//     pipeline.Take(result, &job) for each, in the order of the requests
//   }
//   pipeline.Result(std::move(job))
//
// Immutable and thread-safe for jobs that differ.
class Pipeline {
 public:
  // `feeds_pivot`: another model reads the translations.
  Pipeline(TranslationOptions options, Stages stages, bool feeds_pivot);

  const TranslationOptions& options() const { return options_; }

  // Cuts a text into parts, tokenizes them and makes their requests. `markup`:
  // the text's, if the caller has parsed it.
  absl::StatusOr<TranslationJob> Prepare(const TranslationInput& input,
                                         std::optional<Markup> markup) const;
  // Makes the requests of a job whose parts were translated, by a pipeline that
  // feeds this one, to `first`, [parts]. The best hypothesis of each part is
  // one part here, and is not cut.
  absl::Status PreparePivot(const std::vector<TranslatedText>& first,
                            TranslationJob* job) const;
  // Takes the next result, and makes requests if the part is tried again.
  absl::Status Take(RequestResult result, TranslationJob* job) const;
  // The best translations of the parts, [parts], of a job that is done.
  static std::vector<TranslatedText> Translations(TranslationJob* job);
  // These joined.
  TranslatedText Result(TranslationJob job,
                        std::vector<TranslatedText> translations) const;

 private:
  // Lets the stages choose what the model reads for an attempt.
  absl::Status RunBefore(const TranslationJob& job, Attempt* attempt) const;
  // Makes the requests of an attempt. False: the model cannot read a part
  // whole, and `divides` allows to cut it.
  absl::StatusOr<bool> AskReadings(Attempt attempt, bool divides,
                                   TranslationJob* job) const;
  // Both, for the first attempt of a part.
  absl::StatusOr<bool> AskPart(size_t part, bool divides,
                               TranslationJob* job) const;
  // Asks for an input that is one part. A blank text has none.
  absl::Status AskWhole(const TranslationInput& input,
                        TranslationJob* job) const;
  // Makes the requests of another attempt, or of the first way after it that
  // the model can read. False: there is none.
  absl::StatusOr<bool> AskAgain(Attempt attempt, TranslationJob* job) const;
  absl::Status Tokenize(const Attempt& attempt, bool divides,
                        const TranslationJob& job, Reading* reading) const;
  absl::Status AddRequest(const Attempt& attempt, Reading* reading,
                          TranslationJob* job) const;

  // Runs an attempt that has its results through the stages, keeps the better
  // candidate, and tries the part again if a stage wants that.
  absl::Status Finish(Attempt attempt, TranslationJob* job) const;
  absl::StatusOr<TranslationCandidate> RunAfter(
      const TranslationJob& job, const Attempt& attempt,
      TranslationCandidate candidate) const;
  // What the model made of an attempt, before the stages.
  TranslationCandidate CandidateOf(const TranslationJob& job,
                                   Attempt* attempt) const;
  TranslatedText TranslationOf(const Attempt& attempt, Reading* reading) const;
  std::vector<Alignment> AlignmentsOf(const Reading& reading) const;

  const CallDecoding& DecodingOf(const Attempt& attempt) const {
    return attempt.second_try ? *options_.checks->second_try
                              : options_.decoding;
  }

  TranslationOptions options_;
  std::optional<SentenceSplitter> splitter_;
  Stages stages_;
  bool feeds_pivot_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_PIPELINE_H_
