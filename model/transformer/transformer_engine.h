#ifndef TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_ENGINE_H_
#define TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_ENGINE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/engine.h"
#include "model/transformer/decoder.h"
#include "model/transformer/encoder.h"
#include "model/transformer/sequences.h"
#include "model/transformer/transformer.h"

namespace trivium {

// The Engine of a Transformer: it owns sources, hypotheses and their blocks,
// and passes a step's rows to the encoder and the decoder. Not thread-safe.
class TransformerEngine : public Engine {
 public:
  // `kv_cache_bytes` is the size of the KV blocks, rounded down to whole
  // blocks; `prefix_cache_bytes` of them may be cached without references
  // (unset: all). `threads` run a step, including the caller's. Results do not
  // depend on any of these, bit by bit. Returns RESOURCE_EXHAUSTED if memory is
  // short or the cache cannot hold the shortest sequence.
  static absl::StatusOr<std::unique_ptr<TransformerEngine>> Create(
      std::shared_ptr<const Transformer> weights, int64_t kv_cache_bytes,
      int threads = 1,
      std::optional<int64_t> prefix_cache_bytes = std::nullopt);

  const EngineLimits& limits() const override { return limits_; }
  int free_blocks() const override {
    return cache_.has_value() ? cache_->free_blocks() : 0;
  }
  int BlocksNeeded(const StepPlan& plan) override;

  absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                     const SourceOptions& options) override;
  void ReleaseSource(SourceId source) override;
  bool IsFinite(SourceId source) const override {
    return sources_[source].finite;
  }
  std::span<const float> EncoderStates(SourceId source) const override;
  std::span<const float> HiddenStates(SourceId source) const override;
  std::span<const float> PooledOutput(SourceId source) const override;
  std::span<const float> HeadLogits(SourceId source) const override;
  std::span<const BestLogits> BestHeadLogits(SourceId source) const override;
  std::span<const SparseWeight> SparseEmbedding(SourceId source) const override;
  std::span<const float> EncoderAttention(SourceId source) const override;
  const HeadTrace* TracedHead(SourceId source) const override;

  HypothesisId AddHypothesis(SourceId source) override;
  Beginning Begin(SourceId source, std::span<const int32_t> tokens,
                  std::string_view salt) override;
  void CacheBlocks(HypothesisId hypothesis, std::span<const int32_t> tokens,
                   std::string_view salt) override;
  HypothesisId Fork(HypothesisId parent) override;
  void Truncate(HypothesisId hypothesis, int length) override;
  void ReleaseHypothesis(HypothesisId hypothesis) override;

  absl::Status Step(const StepPlan& plan, StepResult* result) override;

 private:
  // `layout` is the decoder's, if there is one.
  TransformerEngine(std::shared_ptr<const Transformer> weights,
                    std::optional<KvLayout> layout, int blocks, int max_cached,
                    int threads);

  absl::Status Check(const StepPlan& plan) const;
  // Refuses a source of which a token would see none.
  absl::Status CheckUnattended(const EncoderInput& input) const;
  // Encodes the plan's sources. Sources at the same layer, with the same number
  // of layers to run, are encoded together.
  absl::Status Encode(const StepPlan& plan, StepResult* result);
  // Allocates blocks for the new tokens of every hypothesis of the plan. If too
  // few are free, changes nothing and returns an error.
  absl::Status MakeRoom(const StepPlan& plan);
  // Returns the blocks of `tokens` tokens in one group of layers.
  static int BlocksOf(int tokens) { return PaddedKeys(tokens) / kTileTokens; }
  // True if the hypothesis's next token is written to blocks it already has.
  static bool WritesToLastBlock(const HypothesisState& hypothesis) {
    return hypothesis.length % kTileTokens != 0;
  }
  // Returns what a hypothesis's blocks depend on besides its tokens.
  std::string ContextKeyOf(SourceId source, std::string_view salt) const;
  // Returns the cached nodes of a new hypothesis's announced prefix.
  std::vector<const PrefixIndex::Node*> FindPrefix(
      const HypothesisState& hypothesis);
  // Registers the hypothesis's full blocks of `tokens` in the prefix index.
  // With them goes each state of `saved` that is after a whole node.
  void RegisterBlocks(const HypothesisState& hypothesis,
                      std::string_view context_key,
                      std::span<const int32_t> tokens,
                      std::span<const SavedState> saved);
  // Registers full blocks of the announced prefix, after a step.
  void RegisterPrefix(HypothesisState* hypothesis);
  // Releases the states that the step saved, which stay if they are registered.
  void ReleaseSaved(HypothesisState* hypothesis);
  // The tokens between the states that are saved of a long prefix: a power of
  // two whose keys and values need as much memory as a state, or 64 or 1024.
  int SavedEvery() const;
  // Makes the hypothesis's state its own, for a step to write to; see
  // hypotheses.cc.
  void OwnState(HypothesisState* hypothesis);
  // Allocates the states that a step will save on its way through the
  // announced prefix, as far as there is room.
  void PlanSaved(const StepPlan::Decode& work, HypothesisState* hypothesis);
  // Releases the blocks whose keys no token after the first `length` sees.
  void ReleasePassed(HypothesisState* hypothesis, int length);
  // True if the hypothesis must copy the table's last block before writing. Of
  // the hypotheses that share it, all but the last one to write must.
  bool NeedsCopy(const HypothesisState& hypothesis,
                 const BlockTable& table) const;

  std::shared_ptr<const Transformer> weights_;
  EngineLimits limits_;
  std::optional<KvCache> cache_;  // set if there is a decoder
  std::optional<Encoder> encoder_;
  std::optional<Decoder> decoder_;
  Workspace workspace_;
  PhaseTimer timer_;
  Slots<SourceState> sources_;
  Slots<HypothesisState> hypotheses_;

  // Scratch, reused from step to step.
  std::vector<StepPlan::Encode> encode_order_;
  std::vector<SourceState*> encode_group_;
  std::vector<Decoder::Item> items_;
  std::vector<int> sharers_gone_;  // [blocks], zero outside BlocksNeeded
  std::vector<int> node_blocks_;   // [groups], used by RegisterBlocks
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_ENGINE_H_
