// Blocks behind a window that all layers have are given up.
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

constexpr int kWindow = 20;
// A window reaches into two full blocks and the one that is written to.
constexpr int kHeld = 3;

class WindowBlocksTest : public ::testing::TestWithParam<Formats> {
 protected:
  WindowBlocksTest()
      : random_({.window = kWindow,
                 .encoder_layers = 0,
                 .decoder_layers = 1,
                 .max_positions = 200},
                8),
        engine_(NewEngine(random_, GetParam())),
        total_(engine_->free_blocks()) {}

  int held() const { return total_ - engine_->free_blocks(); }

  std::vector<float> Append(HypothesisId hypothesis,
                            std::span<const int32_t> tokens) {
    StepPlan plan;
    plan.decode.push_back({.hypothesis = hypothesis,
                           .tokens = tokens,
                           .queries = {&kAllLogits, 1}});
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    const auto all = result.rows[0].logits[0].all;
    return {all.begin(), all.end()};
  }

  RandomTransformer random_;
  std::unique_ptr<Engine> engine_;
  const int total_;
};

TEST_P(WindowBlocksTest, PassedBlocksAreFreeAndBitsTheSame) {
  const std::vector<int32_t> tokens = RandomIds(150, 101, 3);
  const std::vector<float> at_once =
      Decode(engine_.get(), kNoSource, tokens, tokens.size()).back();
  EXPECT_EQ(held(), 0);
  const HypothesisId parent = engine_->AddHypothesis(kNoSource);
  std::vector<float> last;
  for (size_t i = 0; i < tokens.size(); ++i) {
    last = Append(parent, std::span(tokens).subspan(i, 1));
    EXPECT_LE(held(), kHeld) << "after token " << i;
  }
  EXPECT_EQ(last, at_once);

  // A fork holds what its parent does, and no more.
  const HypothesisId child = engine_->Fork(parent);
  const std::vector<int32_t> more = RandomIds(40, 101, 4);
  const std::vector<float> of_child = Append(child, more);
  EXPECT_EQ(Append(parent, more), of_child);
  engine_->ReleaseHypothesis(parent);
  engine_->ReleaseHypothesis(child);
  EXPECT_EQ(held(), 0);
}

TEST_P(WindowBlocksTest, WhatIsTakenBackLeavesTheWindow) {
  const std::vector<int32_t> tokens = RandomIds(120, 101, 5);
  const std::vector<float> expected =
      Decode(engine_.get(), kNoSource, tokens, tokens.size()).back();
  const HypothesisId hypothesis = engine_->AddHypothesis(kNoSource);
  std::vector<float> last;
  for (int length = 0; length < 120; ++length) {
    // The token and guesses, of which none is right.
    std::vector<int32_t> guess = RandomIds(1 + length % 30, 101, length);
    guess[0] = tokens[length];
    Append(hypothesis, guess);
    engine_->Truncate(hypothesis, length);
    last = Append(hypothesis, std::span(tokens).subspan(length, 1));
  }
  EXPECT_EQ(last, expected);
}

TEST_P(WindowBlocksTest, BeginningsAreFoundWhileTheyAreKept) {
  const std::vector<int32_t> tokens = RandomIds(150, 101, 6);
  std::vector<std::vector<float>> read;
  for (const int expected : {0, 144}) {
    const auto [hypothesis, found] = engine_->Begin(kNoSource, tokens, "");
    EXPECT_EQ(found, expected);
    for (size_t at = found; at < tokens.size(); at += 30) {
      const auto rest = std::span(tokens).subspan(at);
      read.push_back(
          Append(hypothesis, rest.first(std::min<size_t>(30, rest.size()))));
    }
    EXPECT_LE(held(), kHeld + 2);
    engine_->ReleaseHypothesis(hypothesis);
    EXPECT_EQ(held(), 0);
  }
  EXPECT_EQ(read.back(), read[read.size() - 2]);
}

INSTANTIATE_TEST_SUITE_P(Formats, WindowBlocksTest,
                         ::testing::Values(kF32Formats, kInt8Formats));

}  // namespace
}  // namespace trivium
