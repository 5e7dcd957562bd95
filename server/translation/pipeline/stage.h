#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_STAGE_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/translation/pipeline/translation_job.h"

namespace trivium {

// One aspect of translating, such as markup or protected spans. A pipeline is a
// list of stages around a model, outermost first; translation_path.cc has the
// list. A text goes inwards through the stages to the model, and the model's
// output comes back outwards:
//
//   text       Open      markup is parsed, protected spans are found
//     |                  the pipeline cuts the text into parts
//   attempt    Before    the model reads placeholders instead of spans
//     |                  the pipeline tokenizes
//   request    Ask       the search must write the glossary's terms
//     |                  the model translates
//   candidate  After     spans and tags are put back, checks look at the text
//     |
//   the part is done, or Retry makes another attempt
//
// A stage overrides only the steps that it needs, and knows no other stage. It
// reads the job and leaves its results in the attempt or the candidate. Stages
// are immutable and thread-safe: all texts of a call share them.
class Stage {
 public:
  virtual ~Stage() = default;

  // Called once for each text, before it is cut. Outermost stage first.
  virtual absl::Status Open(TranslationJob* job) const {
    return absl::OkStatus();
  }

  // Returns the text stage that leaves a sentence as it is, or nullopt if it is
  // to be translated. Called for each sentence before it becomes a part.
  virtual std::optional<TextStage> Keeps(const TranslationJob& job,
                                         std::string_view sentence) const {
    return std::nullopt;
  }

  // Chooses what the model reads for a part. An attempt begins with one
  // reading, the unchanged part. Outermost stage first. INVALID_ARGUMENT: the
  // part cannot be read in this way.
  virtual absl::Status Before(const TranslationJob& job,
                              Attempt* attempt) const {
    return absl::OkStatus();
  }

  // Adds what the search of a tokenized reading must do. Called a second time
  // if the reading is asked again with other decoding options. Innermost stage
  // first.
  virtual absl::Status Ask(const TranslationJob& job, const Attempt& attempt,
                           Reading* reading, Request* request) const {
    return absl::OkStatus();
  }

  // Changes a candidate, or records what is wrong with it. The attempt has its
  // results. Innermost stage first.
  virtual absl::Status After(const TranslationJob& job, const Attempt& attempt,
                             TranslationCandidate* candidate) const {
    return absl::OkStatus();
  }

  // Returns another attempt if this stage wants one, else nullopt. `losses` is
  // the number of losses in the candidate of `attempt`; `best` is the part's
  // best candidate so far. Innermost stage first; the first attempt that the
  // model can read is made, and no other stage is asked.
  virtual std::optional<Attempt> Retry(const TranslationJob& job,
                                       const Attempt& attempt, int losses,
                                       const TranslationCandidate& best) const {
    return std::nullopt;
  }
};

// Outermost stage first.
using Stages = std::vector<std::unique_ptr<const Stage>>;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_STAGE_H_
