#ifndef TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_
#define TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/engine.h"
#include "server/batching/request.h"

namespace trivium {

// Computes one finished hypothesis's cross-attention by reading its tokens
// once more (teacher forcing): a search keeps no maps of hypotheses that may
// never win. May be cut into chunks of any size. Not thread-safe; End before
// destruction.
class AttentionPass {
 public:
  // `prefix` and the new `ids` are what the decoder read and gave; row i of
  // the map is the position that gave ids[i].
  AttentionPass(Engine* engine, SourceId source, int source_tokens,
                std::span<const int32_t> prefix, std::span<const int32_t> ids);

  int tokens_left() const { return static_cast<int>(tokens_.size()) - fed_; }
  // Adds the next `count` tokens; `selection` outlives the step.
  void Plan(int count, const AttentionSelection* selection, StepPlan* plan);
  // `row` answers what Plan added last.
  void Apply(const StepResult::Row& row, int layers);
  void End(Engine* engine) { engine->ReleaseHypothesis(hypothesis_); }

  AttentionMap TakeMap() { return std::move(map_); }

 private:
  const HypothesisId hypothesis_;
  const int first_row_;  // position of the map's row 0
  std::vector<int32_t> tokens_;
  int fed_ = 0;
  int planned_ = 0;
  AttentionMap map_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_
