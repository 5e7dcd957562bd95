#ifndef TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_
#define TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/engine.h"
#include "server/batching/request.h"

namespace trivium {

// Computes the attention of one finished hypothesis to its source and to its
// own tokens, by reading these tokens once more (teacher forcing): a search
// stores no maps of hypotheses that may never win. The pass may be cut into
// chunks of any size. Not thread-safe; call End before destruction.
class AttentionPass {
 public:
  // The maps to compute, or null. The selections outlive the pass.
  struct Selections {
    const AttentionSelection* cross = nullptr;
    bool mean_cross = false;  // of `cross`, only the mean of layers and heads
    const AttentionSelection* decoder = nullptr;
    bool mean_decoder = false;  // the same for `decoder`
    bool prefix = false;        // for `decoder`: see Request::prefix_attention
  };

  // The decoder read `prefix` and generated `ids`. Query i of a map is the
  // position that generated ids[i]; with `selections.prefix`, position i.
  AttentionPass(Engine* engine, SourceId source, int source_tokens,
                std::span<const int32_t> prefix, std::span<const int32_t> ids,
                const Selections& selections);

  // Traces a head of the decoder, too. Call it before the first Plan.
  void Trace(const HeadChoice& choice);

  int tokens_left() const { return static_cast<int>(tokens_.size()) - fed_; }
  // Adds the next `count` tokens to the plan.
  void Plan(int count, StepPlan* plan);
  // Consumes the engine's answer to the last Plan.
  void Apply(const StepResult::Row& row);
  void End(Engine* engine) { engine->ReleaseHypothesis(hypothesis_); }

  // Maps that were not selected are empty.
  AttentionMap TakeCrossMap() { return std::move(cross_); }
  AttentionMap TakeDecoderMap() { return std::move(decoder_); }
  std::optional<HeadTrace> TakeTrace();

 private:
  // Copies from `weights`, [layers, heads, planned_, keys], the rows that
  // belong to `map`. The map's rows may have more keys: a token sees none after
  // it. `first_query`: position of the map's query 0. `mean`: adds the rows up
  // to the mean of layers and heads.
  void Copy(std::span<const float> weights, int keys, int first_query,
            bool mean, AttentionMap* map) const;

  const Selections selections_;
  HypothesisId hypothesis_;
  const int decoder_layers_;
  const int first_new_;  // the position that generated ids[0]
  std::vector<int32_t> tokens_;
  int fed_ = 0;
  int planned_ = 0;
  AttentionMap cross_, decoder_;
  const int source_tokens_;
  std::unique_ptr<HeadTrace> trace_;  // at one place, for plans point to it
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ATTENTION_PASS_H_
