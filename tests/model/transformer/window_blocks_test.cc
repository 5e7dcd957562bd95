// Blocks that the window of a group of layers has passed are released.
#include <algorithm>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

constexpr int kWindow = 20;
// A window covers parts of two full blocks and the one being written.
constexpr int kHeld = 3;

// Layers with and without a window alternate, so a single layer has one.
class WindowBlocksTest
    : public ::testing::TestWithParam<std::tuple<Formats, int>> {
 protected:
  WindowBlocksTest()
      : random_({.window = kWindow,
                 .encoder_layers = 0,
                 .decoder_layers = layers(),
                 .max_positions = 200},
                8),
        engine_(NewEngine(random_, std::get<Formats>(GetParam()))),
        total_(engine_->free_blocks()) {}

  static int layers() { return std::get<int>(GetParam()); }
  int held() const { return total_ - engine_->free_blocks(); }
  // Blocks of a hypothesis of `tokens` tokens if windows hold `of_window`.
  static int Held(int tokens, int of_window) {
    const int full = (tokens + 15) / 16;
    // Blocks have the greatest size that makes all groups equal.
    switch (layers()) {
      case 1:
        return std::min(full, of_window);
      case 4:  // two groups of two layers
        return std::min(full, of_window) + full;
      default:  // two layers have a window, one does not
        return 2 * std::min(full, of_window) + full;
    }
  }

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
    EXPECT_LE(held(), Held(i + 1, kHeld)) << "after token " << i;
  }
  EXPECT_GE(held(), Held(150, kHeld - 1));
  EXPECT_EQ(last, at_once);

  // A fork holds the blocks of its parent, and no more.
  const HypothesisId child = engine_->Fork(parent);
  const std::vector<int32_t> more = RandomIds(40, 101, 4);
  const std::vector<float> of_child = Append(child, more);
  EXPECT_EQ(Append(parent, more), of_child);
  engine_->ReleaseHypothesis(parent);
  engine_->ReleaseHypothesis(child);
  EXPECT_EQ(held(), 0);
}

TEST_P(WindowBlocksTest, TruncatedTokensLeaveTheWindow) {
  const std::vector<int32_t> tokens = RandomIds(120, 101, 5);
  const std::vector<float> expected =
      Decode(engine_.get(), kNoSource, tokens, tokens.size()).back();
  const HypothesisId hypothesis = engine_->AddHypothesis(kNoSource);
  std::vector<float> last;
  for (int length = 0; length < 120; ++length) {
    // The token and guessed tokens, all of them wrong.
    std::vector<int32_t> guess = RandomIds(1 + length % 30, 101, length);
    guess[0] = tokens[length];
    Append(hypothesis, guess);
    engine_->Truncate(hypothesis, length);
    last = Append(hypothesis, std::span(tokens).subspan(length, 1));
  }
  EXPECT_EQ(last, expected);
}

TEST_P(WindowBlocksTest, FindsPrefixesWhileTheyAreCached) {
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
    EXPECT_LE(held(), Held(150, kHeld + 2));
    engine_->ReleaseHypothesis(hypothesis);
    EXPECT_EQ(held(), 0);
  }
  EXPECT_EQ(read.back(), read[read.size() - 2]);
}

// With only as many blocks as the limits say, in steps as long as they allow.
TEST_P(WindowBlocksTest, AsManyBlocksAsTheLimitsSayAreEnough) {
  const std::vector<int32_t> tokens = RandomIds(2000, 101, 9);
  const RandomTransformer random({.window = kWindow,
                                  .encoder_layers = 0,
                                  .decoder_layers = layers(),
                                  .max_positions = 2000},
                                 8);
  const Formats& formats = std::get<Formats>(GetParam());
  const auto large = NewEngine(random, formats, 16 << 20);
  const EngineLimits& limits = large->limits();
  const int64_t blocks = limits.HypothesisBlocks(2000);
  EXPECT_EQ(blocks, Held(2000, 35));
  const auto small = NewEngine(random, formats, blocks * limits.block_bytes);
  ASSERT_EQ(small->limits().total_blocks, blocks);
  EXPECT_EQ(Decode(small.get(), kNoSource, tokens, kMostStepTokens).back(),
            Decode(large.get(), kNoSource, tokens, 100).back());
}

// A conversation continues where it ended; the blocks of windows in the middle
// may be gone while others are still cached.
TEST_P(WindowBlocksTest, FoundPrefixesHaveAllBlocksThatTheNextTokenSees) {
  const std::vector<int32_t> tokens = RandomIds(150, 101, 6);
  const auto transformer =
      Transformer::Create(random_.description(), std::get<Formats>(GetParam()));
  for (const int kept : {0, 1, 2, 5, 9, 12, 20, 1000}) {
    SCOPED_TRACE(testing::Message() << kept << " blocks are kept");
    const int64_t block_bytes = engine_->limits().block_bytes;
    const auto engine =
        TransformerEngine::Create(*transformer, 200 * block_bytes, 1,
                                  kept * block_bytes)
            .value();
    const int free = engine->free_blocks();
    for (const int length : {150, 100, 149, 60, 150, 33, 120}) {
      SCOPED_TRACE(length);
      const auto prompt = std::span(tokens).first(length);
      const auto [hypothesis, found] = engine->Begin(kNoSource, prompt, "");
      EXPECT_EQ(found % 16, 0);
      EXPECT_LT(found, length);
      if (kept == 0) {
        EXPECT_EQ(found, 0);
      } else if (kept == 1000 && length != 150) {
        EXPECT_EQ(found, (length - 1) / 16 * 16);
      }
      StepPlan plan;
      plan.decode.push_back({.hypothesis = hypothesis,
                             .tokens = prompt.subspan(found),
                             .queries = {&kAllLogits, 1}});
      StepResult result;
      ASSERT_TRUE(engine->Step(plan, &result).ok());
      const auto all = result.rows[0].logits[0].all;
      EXPECT_EQ(std::vector<float>(all.begin(), all.end()),
                Decode(engine_.get(), kNoSource, prompt, length).back());
      engine->ReleaseHypothesis(hypothesis);
      EXPECT_EQ(engine->free_blocks(), free);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, WindowBlocksTest,
                         ::testing::Combine(::testing::Values(kF32Formats,
                                                              kInt8Formats),
                                            ::testing::Values(1, 3, 4)));

}  // namespace
}  // namespace trivium
