#ifndef TRIVIUM_TESTS_SUPPORT_FORWARDING_ENGINE_H_
#define TRIVIUM_TESTS_SUPPORT_FORWARDING_ENGINE_H_

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "model/engine.h"

namespace trivium {

// Another engine behind the same interface. Tests override the calls that they
// watch, delay or spoil.
class ForwardingEngine : public Engine {
 public:
  explicit ForwardingEngine(std::unique_ptr<Engine> engine)
      : engine_(std::move(engine)) {}

  const EngineLimits& limits() const override { return engine_->limits(); }
  int free_blocks() const override { return engine_->free_blocks(); }
  absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                     const SourceOptions& options) override {
    return engine_->AddSource(input, options);
  }
  void ReleaseSource(SourceId source) override {
    engine_->ReleaseSource(source);
  }
  bool IsFinite(SourceId source) const override {
    return engine_->IsFinite(source);
  }
  std::span<const float> EncoderStates(SourceId source) const override {
    return engine_->EncoderStates(source);
  }
  std::span<const float> EncoderAttention(SourceId source) const override {
    return engine_->EncoderAttention(source);
  }
  const HeadTrace* TracedHead(SourceId source) const override {
    return engine_->TracedHead(source);
  }
  std::span<const float> HiddenStates(SourceId source) const override {
    return engine_->HiddenStates(source);
  }
  std::span<const float> PooledOutput(SourceId source) const override {
    return engine_->PooledOutput(source);
  }
  std::span<const float> HeadLogits(SourceId source) const override {
    return engine_->HeadLogits(source);
  }
  std::span<const BestLogits> BestHeadLogits(SourceId source) const override {
    return engine_->BestHeadLogits(source);
  }
  std::span<const SparseWeight> SparseEmbedding(
      SourceId source) const override {
    return engine_->SparseEmbedding(source);
  }
  int BlocksNeeded(const StepPlan& plan) override {
    return engine_->BlocksNeeded(plan);
  }
  HypothesisId AddHypothesis(SourceId source) override {
    return engine_->AddHypothesis(source);
  }
  Beginning Begin(SourceId source, std::span<const int32_t> tokens,
                  std::string_view salt) override {
    return engine_->Begin(source, tokens, salt);
  }
  void CacheBlocks(HypothesisId hypothesis, std::span<const int32_t> tokens,
                   std::string_view salt) override {
    engine_->CacheBlocks(hypothesis, tokens, salt);
  }
  HypothesisId Fork(HypothesisId parent) override {
    return engine_->Fork(parent);
  }
  void Truncate(HypothesisId hypothesis, int length) override {
    engine_->Truncate(hypothesis, length);
  }
  void ReleaseHypothesis(HypothesisId hypothesis) override {
    engine_->ReleaseHypothesis(hypothesis);
  }
  absl::Status Step(const StepPlan& plan, StepResult* result) override {
    return engine_->Step(plan, result);
  }

 private:
  const std::unique_ptr<Engine> engine_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_FORWARDING_ENGINE_H_
