#ifndef TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_
#define TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/engine.h"
#include "server/batching/request.h"

namespace trivium {

// Computes one finished hypothesis's attention, to its source and to its own
// tokens, by reading these once more (teacher forcing): a search keeps no maps
// of hypotheses that may never win. May be cut into chunks of any size. Not
// thread-safe; End before destruction.
class AttentionPass {
 public:
  // Maps to make, or null; they outlive the pass.
  struct Selections {
    const AttentionSelection* cross = nullptr;
    bool mean_cross = false;  // of `cross` only the mean of layers and heads
    const AttentionSelection* decoder = nullptr;
    bool prefix = false;  // of `decoder`: see Request::prefix_attention
  };

  // `prefix` and the new `ids` are what the decoder read and gave; query
  // i of a map is the position that gave ids[i], or position i.
  AttentionPass(Engine* engine, SourceId source, int source_tokens,
                std::span<const int32_t> prefix, std::span<const int32_t> ids,
                const Selections& selections);

  int tokens_left() const { return static_cast<int>(tokens_.size()) - fed_; }
  // Adds the next `count` tokens.
  void Plan(int count, StepPlan* plan);
  // `row` answers what Plan added last.
  void Apply(const StepResult::Row& row);
  void End(Engine* engine) { engine->ReleaseHypothesis(hypothesis_); }

  // Empty where they were not selected.
  AttentionMap TakeCrossMap() { return std::move(cross_); }
  AttentionMap TakeDecoderMap() { return std::move(decoder_); }

 private:
  // Copies the rows of `weights`, [layers, heads, planned_, keys], that belong
  // to `map`, whose rows may have more keys: a token sees none after it.
  // `first_query`: the position of the map's query 0. `mean`: adds them up to
  // the mean of layers and heads.
  void Copy(std::span<const float> weights, int keys, int first_query,
            bool mean, AttentionMap* map) const;

  const Selections selections_;
  const HypothesisId hypothesis_;
  const int decoder_layers_;
  const int first_new_;  // the position that gave ids[0]
  std::vector<int32_t> tokens_;
  int fed_ = 0;
  int planned_ = 0;
  AttentionMap cross_, decoder_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_
