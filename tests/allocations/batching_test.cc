// Scheduler, search and metrics allocate nothing in an iteration in which no
// request arrives or ends.
#include <array>

#include "tests/allocations/steady_batch.h"

namespace trivium {
namespace {

// Always answers alike, out of memory of its own.
class FixedEngine : public Engine {
 public:
  FixedEngine() {
    limits_ = {.encoder_layers = 6,
               .decoder_layers = 6,
               .vocabulary = 1000,
               .max_source_tokens = 512,
               .max_target_tokens = 512,
               .block_tokens = 16,
               .total_blocks = 4096};
    for (size_t i = 0; i < best_.size(); ++i) {
      best_[i] = {static_cast<int32_t>(i + 2), -0.01f * static_cast<float>(i)};
    }
  }
  const EngineLimits& limits() const override { return limits_; }
  int free_blocks() const override { return limits_.total_blocks; }
  absl::StatusOr<SourceId> AddSource(const EncoderInput&,
                                     const SourceOptions&) override {
    return 0;
  }
  void ReleaseSource(SourceId) override {}
  bool IsFinite(SourceId) const override { return true; }
  std::span<const float> EncoderStates(SourceId) const override { return {}; }
  std::span<const float> EncoderAttention(SourceId) const override {
    return {};
  }
  std::span<const float> HiddenStates(SourceId) const override { return {}; }
  std::span<const float> PooledOutput(SourceId) const override { return {}; }
  std::span<const float> HeadLogits(SourceId) const override { return {}; }
  std::span<const BestLogits> BestHeadLogits(SourceId) const override {
    return {};
  }
  int BlocksNeeded(const StepPlan&) override { return 0; }
  HypothesisId AddHypothesis(SourceId) override { return 0; }
  Beginning Begin(SourceId, std::span<const int32_t>,
                  std::string_view) override {
    return {0, 0};
  }
  void CacheBlocks(HypothesisId, std::span<const int32_t>,
                   std::string_view) override {}
  HypothesisId Fork(HypothesisId) override { return 0; }
  void Truncate(HypothesisId, int) override {}
  void ReleaseHypothesis(HypothesisId) override {}
  absl::Status Step(const StepPlan& plan, StepResult* result) override {
    result->rows.resize(plan.decode.size());
    rows_.resize(plan.decode.size());
    for (size_t i = 0; i < plan.decode.size(); ++i) {
      rows_[i].best = best_;
      rows_[i].rest_log_sum_exp = 5;
      rows_[i].watched =
          std::span(watched_).first(plan.decode[i].queries[0].watched.size());
      result->rows[i].logits = {&rows_[i], 1};
    }
    return absl::OkStatus();
  }

 private:
  EngineLimits limits_;
  std::vector<LogitsRow> rows_;
  std::array<Candidate, 16> best_;
  std::array<float, 16> watched_{};
};

TEST(BatchingAllocationsTest, Greedy) {
  ExpectNoAllocations(std::make_unique<FixedEngine>(),
                      SteadyRequests(20, 1, 200), 5, 190);
}

TEST(BatchingAllocationsTest, Beams) {
  ExpectNoAllocations(std::make_unique<FixedEngine>(),
                      SteadyRequests(8, 4, 200), 5, 190);
}

// The counter itself.
TEST(BatchingAllocationsTest, SeesAllocations) {
  AllocationCounter::Start();
  void* memory = ::operator new(10);
  AllocationCounter::Stop();
  ::operator delete(memory);
  EXPECT_EQ(AllocationCounter::count(), 1);
  EXPECT_NE(AllocationCounter::Sites(), "");
}

}  // namespace
}  // namespace trivium
