#ifndef TRIVIUM_TESTS_MODEL_SEARCH_REFERENCE_SEARCH_H_
#define TRIVIUM_TESTS_MODEL_SEARCH_REFERENCE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "model/search/decoding.h"
#include "tests/model/search/toy_model.h"

namespace trivium {

// Searches that follow Transformers 5.23 step by step, over full rows and with
// plain sorts: slow and obvious.

struct ReferenceResult {
  std::vector<Hypothesis> hypotheses;
  // True if a beam search used a hypothesis of score -1e9 (a place that nothing
  // real could fill) or one without a possible next token. This project's
  // search has no such hypotheses.
  bool placeholders = false;
};

// generation/utils.py: _beam_search.
ReferenceResult ReferenceBeamSearch(const DecodingOptions& options,
                                    const std::vector<int32_t>& prefix,
                                    const StopMatcher* stop,
                                    const ToyModel& model);

// generation/utils.py: _sample, greedy or sampled, with the project's random
// numbers; one result for each draw.
ReferenceResult ReferenceSample(const DecodingOptions& options,
                                const std::vector<int32_t>& prefix,
                                const StopMatcher* stop, const ToyModel& model);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_SEARCH_REFERENCE_SEARCH_H_
