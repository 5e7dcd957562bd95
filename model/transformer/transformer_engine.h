#ifndef TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_ENGINE_H_
#define TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_ENGINE_H_

#include <memory>
#include <optional>
#include <vector>

#include "model/engine.h"
#include "model/transformer/decoder.h"
#include "model/transformer/encoder.h"
#include "model/transformer/sequences.h"
#include "model/transformer/transformer_weights.h"

namespace trivium {

// The Engine of a Transformer: keeps sources, hypotheses and their blocks, and
// hands an iteration's rows to the encoder and the decoder.
class TransformerEngine : public Engine {
 public:
  TransformerEngine(std::shared_ptr<const TransformerWeights> weights,
                    int blocks);

  const EngineLimits& limits() const override { return limits_; }
  int free_blocks() const override {
    return cache_.has_value() ? cache_->free_blocks() : 0;
  }

  absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                     const SourceOptions& options) override;
  void ReleaseSource(SourceId source) override;
  std::span<const float> EncoderStates(SourceId source) const override;
  std::span<const float> PooledOutput(SourceId source) const override;
  std::span<const float> HeadLogits(SourceId source) const override;
  std::span<const float> EncoderAttention(SourceId source) const override;

  HypothesisId AddHypothesis(SourceId source) override;
  HypothesisId Fork(HypothesisId parent) override;
  void ReleaseHypothesis(HypothesisId hypothesis) override;

  absl::Status Step(const StepPlan& plan, StepResult* result) override;

 private:
  absl::Status CheckSource(const EncoderInput& input,
                           const SourceOptions& options) const;
  absl::Status Check(const StepPlan& plan) const;
  // Sources of the plan that are encoded together: those at the same layer
  // for the same number of layers.
  absl::Status Encode(const StepPlan& plan, StepResult* result);
  // Gives every hypothesis of the plan blocks of its own for its new tokens,
  // or changes nothing and says how many are missing.
  absl::Status MakeRoom(const StepPlan& plan);
  // Whether a hypothesis's next token goes to a block it already has.
  static bool WritesToLastBlock(const HypothesisState& hypothesis) {
    return hypothesis.length % kTileTokens != 0;
  }

  std::shared_ptr<const TransformerWeights> weights_;
  EngineLimits limits_;
  std::optional<KvCache> cache_;  // with a decoder
  std::optional<Encoder> encoder_;
  std::optional<Decoder> decoder_;
  LinearScratch scratch_;
  PhaseTimer timer_;
  Slots<SourceState> sources_;
  Slots<HypothesisState> hypotheses_;

  // Reused from step to step.
  std::vector<StepPlan::Encode> encode_order_;
  std::vector<SourceState*> encode_group_;
  std::vector<Decoder::Item> items_;
  std::vector<int> sharers_gone_;  // [blocks], zero between steps
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_ENGINE_H_
