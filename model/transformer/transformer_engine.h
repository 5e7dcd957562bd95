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

// The Engine of a Transformer: keeps sources, hypotheses and their blocks, and
// hands an iteration's rows to the encoder and the decoder.
class TransformerEngine : public Engine {
 public:
  // With `kv_cache_bytes` of KV blocks, rounded down to blocks, of which
  // `prefix_cache_bytes` may be kept for nobody (unset: all), and `threads`
  // that run a step, the caller's among them; bits depend on none of them.
  // RESOURCE_EXHAUSTED when that is less than one longest sequence needs.
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
  std::span<const float> EncoderAttention(SourceId source) const override;

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
  // `layout`: of the decoder, if there is one.
  TransformerEngine(std::shared_ptr<const Transformer> weights,
                    std::optional<KvLayout> layout, int blocks, int most_kept,
                    int threads);

  absl::Status Check(const StepPlan& plan) const;
  // Sources of the plan that are encoded together: those at the same layer
  // for the same number of layers.
  absl::Status Encode(const StepPlan& plan, StepResult* result);
  // Gives every hypothesis of the plan blocks of its own for its new tokens,
  // or changes nothing and says how many are missing.
  absl::Status MakeRoom(const StepPlan& plan);
  // Blocks of so many tokens in one group of layers.
  static int BlocksOf(int tokens) { return PaddedKeys(tokens) / kTileTokens; }
  // Whether a hypothesis's next token goes to blocks it already has.
  static bool WritesToLastBlock(const HypothesisState& hypothesis) {
    return hypothesis.length % kTileTokens != 0;
  }
  // What a hypothesis's blocks depend on besides its tokens.
  std::string PastOf(SourceId source, std::string_view salt) const;
  // What the cache knows of a new hypothesis's announced beginning.
  std::vector<const KnownBlocks::Stretch*> FindBeginning(
      const HypothesisState& hypothesis);
  // Makes the hypothesis's full blocks of `tokens` known.
  void Know(const HypothesisState& hypothesis, std::string_view past,
            std::span<const int32_t> tokens);
  // The same of its announced beginning, after a step.
  void KnowBeginning(HypothesisState* hypothesis);
  // Gives up the blocks of which no token after the first `length` sees a key.
  void ReleasePassed(HypothesisState* hypothesis, int length);
  // Of hypotheses that share the last block of a table, all but the last one to
  // write need a copy of it.
  bool NeedsCopy(const HypothesisState& hypothesis,
                 const BlockTable& table) const;

  std::shared_ptr<const Transformer> weights_;
  EngineLimits limits_;
  std::optional<KvCache> cache_;  // with a decoder
  std::optional<Encoder> encoder_;
  std::optional<Decoder> decoder_;
  Workspace workspace_;
  PhaseTimer timer_;
  Slots<SourceState> sources_;
  Slots<HypothesisState> hypotheses_;

  // Reused from step to step.
  std::vector<StepPlan::Encode> encode_order_;
  std::vector<SourceState*> encode_group_;
  std::vector<Decoder::Item> items_;
  std::vector<int> sharers_gone_;  // [blocks], zero but in BlocksNeeded
  std::vector<int> stretch_;       // [groups of layers], of Know
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_ENGINE_H_
