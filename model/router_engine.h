#ifndef TRIVIUM_MODEL_ROUTER_ENGINE_H_
#define TRIVIUM_MODEL_ROUTER_ENGINE_H_

#include <memory>
#include <vector>

#include "model/encoder_engine.h"
#include "model/transformer/sequences.h"

namespace trivium {

// The engines of a Router's lists as one. EncoderInput::route names the engine
// that reads a source. A scheduler plans as many layers as the deepest engine
// has; a source of another is ready earlier, and its last layers do nothing.
class RouterEngine : public EncoderEngine {
 public:
  // The engines, at least one, have no decoder.
  explicit RouterEngine(std::vector<std::unique_ptr<Engine>> engines);

  // The largest limits of all engines.
  const EngineLimits& limits() const override { return limits_; }

  absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                     const SourceOptions& options) override;
  void ReleaseSource(SourceId source) override;
  bool IsFinite(SourceId source) const override {
    return of(source).IsFinite(sources_[source].id);
  }
  std::span<const float> EncoderStates(SourceId source) const override {
    return of(source).EncoderStates(sources_[source].id);
  }
  std::span<const float> HiddenStates(SourceId source) const override {
    return of(source).HiddenStates(sources_[source].id);
  }
  std::span<const float> PooledOutput(SourceId source) const override {
    return of(source).PooledOutput(sources_[source].id);
  }
  std::span<const float> HeadLogits(SourceId source) const override {
    return of(source).HeadLogits(sources_[source].id);
  }
  std::span<const BestLogits> BestHeadLogits(SourceId source) const override {
    return of(source).BestHeadLogits(sources_[source].id);
  }
  std::span<const SparseWeight> SparseEmbedding(
      SourceId source) const override {
    return of(source).SparseEmbedding(sources_[source].id);
  }
  std::span<const float> EncoderAttention(SourceId source) const override {
    return of(source).EncoderAttention(sources_[source].id);
  }
  const HeadTrace* TracedHead(SourceId source) const override {
    return of(source).TracedHead(sources_[source].id);
  }

  absl::Status Step(const StepPlan& plan, StepResult* result) override;

 private:
  struct Source {
    int route = 0;
    SourceId id = kNoSource;  // in its engine
    int layers_left = 0;      // in its engine

    void Reset() { *this = Source(); }
  };

  Engine& of(SourceId source) const {
    return *engines_[sources_[source].route];
  }

  const std::vector<std::unique_ptr<Engine>> engines_;
  EngineLimits limits_;
  Slots<Source> sources_;
  std::vector<StepPlan> plans_;  // [engines]
  StepResult step_;              // of one engine
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_ROUTER_ENGINE_H_
