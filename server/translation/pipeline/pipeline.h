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

// Translates inputs with one model, through stages (stage.h). Requests come in
// rounds, since a result may show that a part must be asked again:
//
//   job = pipeline.Prepare(input, std::nullopt)
//   while (!job.done()) {
//     move job.requests out, and submit them
//     pipeline.AddResult(result, &job) for each, in the order of the requests
//   }
//   translations = Pipeline::Translations(&job)
//   pipeline.Result(std::move(job), std::move(translations))
//
// Immutable and thread-safe for different jobs.
class Pipeline {
 public:
  // `feeds_pivot`: another model reads the translations.
  Pipeline(TranslationOptions options, Stages stages, bool feeds_pivot);

  const TranslationOptions& options() const { return options_; }

  // Cuts a text into parts, tokenizes them and makes their requests. `markup`
  // is the text's, if the caller has already parsed it.
  absl::StatusOr<TranslationJob> Prepare(const TranslationInput& input,
                                         std::optional<Markup> markup) const;
  // Continues a job whose parts another pipeline, which feeds this one, has
  // translated to `first`, [parts]: makes the requests for these translations.
  // The best hypothesis of each part becomes one part here, and is not cut.
  absl::Status PreparePivot(const std::vector<TranslatedText>& first,
                            TranslationJob* job) const;
  // Accepts the next result. Makes new requests if the part is tried again.
  absl::Status AddResult(RequestResult result, TranslationJob* job) const;
  // Returns the best translations, [parts], of a job that is done.
  static std::vector<TranslatedText> Translations(TranslationJob* job);
  // Joins them into the translation of the input.
  TranslatedText Result(TranslationJob job,
                        std::vector<TranslatedText> translations) const;

 private:
  // True if a stage leaves the sentence as it is.
  bool Keeps(std::string_view sentence, TranslationJob* job) const;
  // Lets the stages choose what the model reads for an attempt.
  absl::Status RunBefore(const TranslationJob& job, Attempt* attempt) const;
  // Makes the requests of an attempt. Returns false if the model cannot read a
  // part whole; only if `divides` allows cutting.
  absl::StatusOr<bool> AskReadings(Attempt attempt, bool divides,
                                   TranslationJob* job) const;
  // Calls both for the first attempt of a part.
  absl::StatusOr<bool> AskPart(size_t part, bool divides,
                               TranslationJob* job) const;
  // Makes the request of an input that is one part; none for a blank text.
  absl::Status AskWhole(const TranslationInput& input,
                        TranslationJob* job) const;
  // Makes the requests of another attempt. If the model cannot read it, goes on
  // to the next way. Returns false if no way is left.
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
  // Returns what the model made of an attempt, before the stages change it.
  TranslationCandidate CandidateOf(const TranslationJob& job,
                                   Attempt* attempt) const;
  TranslatedText TranslationOf(const Attempt& attempt, Reading* reading) const;
  std::vector<Alignment> AlignmentsOf(const Reading& reading) const;

  // True if what the model writes loses the white space at its ends: answers
  // to prompts may have some.
  bool trims(const Reading& reading) const {
    return options_.model->prompted() && !reading.input->has_target;
  }

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
