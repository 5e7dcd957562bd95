#ifndef TRIVIUM_TESTS_SUPPORT_PUPPET_ENGINE_H_
#define TRIVIUM_TESTS_SUPPORT_PUPPET_ENGINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "model/engine.h"
#include "tests/support/fake_clock.h"
#include "tests/support/step_gate.h"

namespace trivium {

// What a puppet engine noticed; outlives the engine, so that a test can look
// after the batcher has taken the engine with it. Thread-safe.
class PuppetLog {
 public:
  struct Step {
    std::vector<StepPlan::Encode> encode;
    int encode_work = 0;   // tokens x layers
    int decoder_rows = 0;  // tokens that decode work appends
    int hypotheses = 0;    // of the plan
    int prefilling = 0;    // of these with more than one token
    int used_blocks = 0;   // after the step
  };

  void Add(Step step);
  // A breach of engine.h's contract by whoever uses the engine.
  void AddMisuse(std::string what);
  void SetLeaks(int count);

  std::vector<Step> steps() const;
  std::vector<std::string> misuses() const;
  // Sources and hypotheses that were never released; -1 while the engine
  // lives.
  int leaks() const;

 private:
  mutable Mutex mutex_;
  std::vector<Step> steps_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> misuses_ ABSL_GUARDED_BY(mutex_);
  int leaks_ ABSL_GUARDED_BY(mutex_) = -1;
};

// An engine without a model: its logits are a hash of (source, tokens read,
// token), so that a hypothesis with a wrong history shows at once. Keeps KV
// blocks exactly as engine.h promises and logs every misuse.
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
  int free_blocks() const override { return free_blocks_; }
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
  struct Source {
    uint64_t hash = 0;
    int tokens = 0;
    SourceOptions options;
    int layers_left = 0;
    int blocks = 0;
    std::vector<float> states, attention, pooled, logits;
  };
  // A block of KV memory; its use count is the number of hypotheses that
  // share it.
  struct Block {};
  struct Hypothesis {
    SourceId source = kNoSource;
    uint64_t hash = 0;  // of the source and the tokens read
    int tokens = 0;
    std::vector<std::shared_ptr<Block>> blocks;
  };
  struct RowMemory {
    std::vector<Candidate> best;
    std::vector<float> watched, all, cross_attention, self_attention;
  };

  absl::Status CheckPlan(const StepPlan& plan);
  std::shared_ptr<Block> TakeBlock();
  // Blocks that `plan` takes, in its order; follows shared blocks.
  int BlocksNeeded(const StepPlan& plan) const;
  void Append(Hypothesis* hypothesis, int32_t token);
  void FillRow(const StepPlan::Decode& decode, RowMemory* memory,
               StepResult::Row* row);
  std::vector<float> Floats(uint64_t hash, size_t count) const;
  absl::Status Misuse(std::string what);

  const Options options_;
  const std::shared_ptr<PuppetLog> log_;
  int free_blocks_;
  SourceId next_source_ = 0;
  HypothesisId next_hypothesis_ = 0;
  std::map<SourceId, Source> sources_;
  std::map<HypothesisId, Hypothesis> hypotheses_;
  std::deque<RowMemory> rows_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_PUPPET_ENGINE_H_
