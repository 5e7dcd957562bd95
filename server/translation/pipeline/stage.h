#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_STAGE_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_STAGE_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/translation/pipeline/translation_job.h"

namespace trivium {

// One subject of translating, such as markup or protected spans. A pipeline is
// a list of stages around a model, outermost first; translation_path.cc has the
// list. A text goes inwards through the stages to the model, and what the model
// makes of it comes back outwards:
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
// A stage overrides what its subject needs, and knows no other stage: it sees
// the job, and leaves its results in the attempt or the candidate. Immutable
// and thread-safe: all texts of a call share it.
class Stage {
 public:
  virtual ~Stage() = default;

  // Once for each text, before it is cut. Outermost stage first.
  virtual absl::Status Open(TranslationJob* job) const {
    return absl::OkStatus();
  }

  // Chooses what the model reads for a part. At first the attempt has one
  // reading, the part as it is. Outermost stage first. INVALID_ARGUMENT: the
  // part cannot be asked in this way.
  virtual absl::Status Before(const TranslationJob& job,
                              Attempt* attempt) const {
    return absl::OkStatus();
  }

  // Adds what the search of a reading must do; the reading is tokenized. May be
  // called a second time for a reading that is asked again with other decoding
  // options. Innermost stage first.
  virtual absl::Status Ask(const TranslationJob& job, const Attempt& attempt,
                           Reading* reading, Request* request) const {
    return absl::OkStatus();
  }

  // Changes a candidate, or says what is wrong with it. The attempt has its
  // results. Innermost stage first.
  virtual absl::Status After(const TranslationJob& job, const Attempt& attempt,
                             TranslationCandidate* candidate) const {
    return absl::OkStatus();
  }

  // Another attempt, if this stage wants one; nullopt: it is content. `losses`
  // are those of the candidate that came of `attempt`; `best` is the part's
  // best candidate so far. Innermost stage first; the first that wants an
  // attempt, which the model can read, gets it.
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
