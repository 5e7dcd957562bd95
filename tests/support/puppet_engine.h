#ifndef TRIVIUM_TESTS_SUPPORT_PUPPET_ENGINE_H_
#define TRIVIUM_TESTS_SUPPORT_PUPPET_ENGINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/engine.h"
#include "tests/support/fake_clock.h"
#include "tests/support/puppet_blocks.h"
#include "tests/support/puppet_log.h"
#include "tests/support/puppet_numbers.h"
#include "tests/support/step_gate.h"

namespace trivium {

// An engine without a model: its numbers are those of puppet_numbers.h. Keeps
// KV blocks exactly as engine.h promises and logs every misuse.
class PuppetEngine : public Engine {
 public:
  struct Options {
    EngineLimits limits{.encoder_layers = 6,
                        .decoder_layers = 6,
                        .vocabulary = 40,
                        .max_source_tokens = 512,
                        .max_target_tokens = 512,
                        .block_tokens = 4,
                        .total_blocks = 1024};
    int heads = 2;
    int d_model = 4;
    // Added to token `end_id`'s logit: how soon sequences end.
    int32_t end_id = 0;
    float end_bias = 0;
    StepGate* gate = nullptr;  // may be null; outlives the engine
    // Moves `clock`, if there is one, by what a step takes: so much a step,
    // a token of decode work, and a token through one encoder layer.
    FakeClock* clock = nullptr;
    absl::Duration step_time, decode_time, encode_time;
    // Called at the beginning of each step, after the gate; an error fails
    // the step.
    std::function<absl::Status(const StepPlan&)> on_step;
  };

  PuppetEngine(const Options& options, std::shared_ptr<PuppetLog> log);
  ~PuppetEngine() override;

  const EngineLimits& limits() const override { return options_.limits; }
  int free_blocks() const override { return blocks_.free(); }
  absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                     const SourceOptions& options) override;
  void ReleaseSource(SourceId source) override;
  bool IsFinite(SourceId) const override { return true; }
  std::span<const float> EncoderStates(SourceId source) const override;
  std::span<const float> HiddenStates(SourceId source) const override;
  std::span<const float> PooledOutput(SourceId source) const override;
  std::span<const float> HeadLogits(SourceId source) const override;
  std::span<const BestLogits> BestHeadLogits(SourceId source) const override;
  std::span<const float> EncoderAttention(SourceId source) const override;
  int BlocksNeeded(const StepPlan& plan) override;
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
  struct Source {
    uint64_t hash = 0;
    EncoderInput input;
    int tokens = 0;
    SourceOptions options;
    int layers_left = 0;
    int blocks = 0;
    std::vector<float> states, hidden, attention, pooled, logits;
  };
  struct Hypothesis {
    SourceId source = kNoSource;
    uint64_t hash = 0;  // of the source
    PuppetBlocks::Tokens tokens;
    std::vector<int32_t> beginning;  // announced
    std::string past;
  };
  struct RowMemory {
    std::deque<PuppetLogits> numbers;
    std::vector<LogitsRow> logits;
    std::vector<float> states;
    std::vector<float> cross_attention, self_attention;
  };

  absl::Status CheckPlan(const StepPlan& plan);
  // What a hypothesis with these blocks depends on besides its tokens.
  std::string PastOf(SourceId source, std::string_view salt) const;
  // Of the source and of the tokens that are in the hypothesis's blocks.
  static uint64_t HashOf(const Hypothesis& hypothesis);
  void FillRow(const StepPlan::Decode& decode, RowMemory* memory,
               StepResult::Row* row);
  absl::Status Misuse(std::string what);

  const Options options_;
  const std::shared_ptr<PuppetLog> log_;
  PuppetBlocks blocks_;  // outlives the hypotheses
  SourceId next_source_ = 0;
  HypothesisId next_hypothesis_ = 0;
  std::map<SourceId, Source> sources_;
  std::map<HypothesisId, Hypothesis> hypotheses_;
  std::deque<RowMemory> rows_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_PUPPET_ENGINE_H_
