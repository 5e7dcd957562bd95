#ifndef TRIVIUM_SERVER_CALLS_CONVERT_ZERO_SHOT_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_ZERO_SHOT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// Labels of the request, for a model that tells whether a text entails another
// (zero-shot classification, Yin et al. 2019). The text is the premise of each
// label's hypothesis. With e and c the logits of entailment and contradiction
// for each label:
//
//   score = exp(e) / sum over all labels of exp(e)
//   score = exp(e) / (exp(e) + exp(c))   with several labels at once, or one
//
// as Transformers' zero-shot-classification pipeline computes them.
struct ZeroShotJob {
  Elements<std::string> labels;
  std::vector<std::string> hypotheses;  // [labels]
  bool apart = false;                   // each label has a score of its own
  int entailment = 0;                   // index in the head's labels
  int contradiction = 0;

  // The bytes of all hypotheses (TextBytes).
  int64_t hypothesis_bytes = 0;
};

// True if one of a model's labels is entailment.
bool TellsEntailment(const std::vector<std::string>& labels);

// Returns the labels of a request; unset if it has none.
// FAILED_PRECONDITION if the model's labels have no entailment.
absl::StatusOr<std::optional<ZeroShotJob>> ReadZeroShot(
    const v1::ClassifyRequest& in, const ServedModel& model,
    const RequestLimits& limits);

// Says how many tokens all pairs of a text have.
void SetPairTokens(int tokens, v1::Classification* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_ZERO_SHOT_H_
