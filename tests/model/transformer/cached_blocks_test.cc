// Blocks without references: they are found again, and evicted when others need
// the room.
#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

class CachedBlocksTest : public ::testing::TestWithParam<Formats> {
 protected:
  CachedBlocksTest()
      : random_({}, 8),
        engine_(NewEngine(random_, GetParam(), 1 << 20)),
        tokens_(RandomIds(40, 101, 9)) {
    for (int i = 0; i < 2; ++i) {
      sources_.push_back(engine_->AddSource({{1, 2, 3 + i}, {}}, {}).value());
      StepPlan plan;
      plan.encode.push_back({sources_[i], 2});
      StepResult result;
      EXPECT_TRUE(engine_->Step(plan, &result).ok());
    }
  }

  // Begins with `tokens`, reads what was not found, and returns the logits of
  // the last token.
  std::vector<float> Read(SourceId source, std::span<const int32_t> tokens,
                          std::string_view salt, int* found) {
    const auto [hypothesis, there] = engine_->Begin(source, tokens, salt);
    *found = there;
    StepPlan plan;
    plan.decode.push_back({.hypothesis = hypothesis,
                           .tokens = tokens.subspan(there),
                           .queries = {&kAllLogits, 1}});
    EXPECT_LE(engine_->BlocksNeeded(plan), engine_->free_blocks());
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    engine_->ReleaseHypothesis(hypothesis);
    const auto all = result.rows[0].logits[0].all;
    return {all.begin(), all.end()};
  }

  RandomTransformer random_;
  std::unique_ptr<Engine> engine_;
  std::vector<int32_t> tokens_;
  std::vector<SourceId> sources_;
};

TEST_P(CachedBlocksTest, FoundBlocksHoldTheSameBits) {
  const int free = engine_->free_blocks();
  int found = -1;
  const std::span<const int32_t> tokens = tokens_;
  const std::vector<float> computed = Read(sources_[0], tokens, "", &found);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(engine_->free_blocks(), free);  // cached blocks are free
  EXPECT_EQ(Read(sources_[0], tokens, "", &found), computed);
  EXPECT_EQ(found, 32);
  // A prefix of it; the last token is always read.
  EXPECT_EQ(Read(sources_[0], tokens.first(32), "", &found),
            Decode(engine_.get(), sources_[0], tokens.first(32), 32).back());
  EXPECT_EQ(found, 16);
  // A text that diverges from it.
  std::vector<int32_t> other = tokens_;
  other[20] = (other[20] + 1) % 101;
  EXPECT_EQ(Read(sources_[0], other, "", &found),
            Decode(engine_.get(), sources_[0], other, 40).back());
  EXPECT_EQ(found, 16);
  // Another tenant's text, and one that reads another source.
  EXPECT_EQ(Read(sources_[0], tokens, "tenant", &found), computed);
  EXPECT_EQ(found, 0);
  Read(sources_[1], tokens, "", &found);
  EXPECT_EQ(found, 0);
  // The blocks of an equal source, long after that source was released.
  engine_->ReleaseSource(sources_[0]);
  sources_[0] = engine_->AddSource({{1, 2, 3}, {}}, {}).value();
  StepPlan plan;
  plan.encode.push_back({sources_[0], 2});
  StepResult result;
  ASSERT_TRUE(engine_->Step(plan, &result).ok());
  EXPECT_EQ(Read(sources_[0], tokens, "", &found), computed);
  EXPECT_EQ(found, 32);
}

TEST_P(CachedBlocksTest, EvictsTheLeastRecentlyUsedBlocksFirst) {
  const int blocks = engine_->free_blocks();
  std::vector<std::vector<int32_t>> all;
  std::vector<std::vector<float>> computed;
  int found = 0;
  // Two blocks of each are cached.
  for (int i = 0; i < blocks; ++i) {
    all.push_back(RandomIds(40, 101, 100 + i));
    computed.push_back(Read(sources_[0], all[i], "", &found));
    EXPECT_EQ(found, 0);
    EXPECT_EQ(engine_->free_blocks(), blocks);
    EXPECT_EQ(Read(sources_[0], all[0], "", &found), computed[0]);
    EXPECT_EQ(found, 32) << i;  // used continuously
  }
  for (int i = 0; i < blocks; ++i) {
    EXPECT_EQ(Read(sources_[0], all[i], "", &found), computed[i]);
  }
  Read(sources_[0], all[1], "", &found);
  EXPECT_EQ(found, 0);
  Read(sources_[0], all[blocks - 1], "", &found);
  EXPECT_EQ(found, 32);
}

// The hypothesis was not announced, and only what it has read is cached.
TEST_P(CachedBlocksTest, KeepsTheBlocksOfASuspendedHypothesis) {
  int found = 0;
  const std::vector<float> computed =
      Decode(engine_.get(), sources_[0], tokens_, 1).back();
  Read(sources_[0], std::span(tokens_).first(3), "", &found);
  const HypothesisId hypothesis = engine_->AddHypothesis(sources_[0]);
  StepResult result;
  for (const int32_t& token : tokens_) {
    StepPlan plan;
    plan.decode.push_back({.hypothesis = hypothesis, .tokens = {&token, 1}});
    ASSERT_TRUE(engine_->Step(plan, &result).ok());
  }
  const HypothesisId fork = engine_->Fork(hypothesis);
  engine_->CacheBlocks(hypothesis, tokens_, "");
  engine_->CacheBlocks(fork, tokens_, "");
  engine_->ReleaseHypothesis(hypothesis);
  engine_->ReleaseHypothesis(fork);
  EXPECT_EQ(Read(sources_[0], tokens_, "", &found), computed);
  EXPECT_EQ(found, 32);
}

// A hypothesis that goes back and on with other tokens no longer has the prefix
// that it began with.
TEST_P(CachedBlocksTest, WhatFollowsATruncationIsNotThePrefix) {
  const std::span<const int32_t> tokens = tokens_;
  const auto [hypothesis, none] = engine_->Begin(sources_[0], tokens, "");
  const std::vector<int32_t> other = RandomIds(40, 101, 10);
  StepResult result;
  for (const std::span<const int32_t> read :
       {tokens, std::span<const int32_t>(other).first(20)}) {
    StepPlan plan;
    plan.decode.push_back({.hypothesis = hypothesis, .tokens = read});
    ASSERT_TRUE(engine_->Step(plan, &result).ok());
    if (read.size() == 40) engine_->Truncate(hypothesis, 20);
  }
  engine_->ReleaseHypothesis(hypothesis);
  int found = 0;
  EXPECT_EQ(Read(sources_[0], tokens, "", &found),
            Decode(engine_.get(), sources_[0], tokens, 40).back());
  EXPECT_EQ(found, 16);
}

// Blocks used longest ago are evicted first; of one text, its end first.
TEST_P(CachedBlocksTest, CachesNoMoreBlocksThanAllowed) {
  const int64_t bytes = 1 << 20;
  const int64_t block_bytes = bytes / engine_->limits().total_blocks;
  const auto transformer =
      Transformer::Create(random_.description(), GetParam());
  int found = -1;
  for (const int kept : {0, 1, 3, 100}) {
    SCOPED_TRACE(kept);
    engine_ = TransformerEngine::Create(*transformer, bytes, 1,
                                        kept * block_bytes + block_bytes / 2)
                  .value();
    sources_[0] = engine_->AddSource({{1, 2, 3}, {}}, {}).value();
    StepPlan plan;
    plan.encode.push_back({sources_[0], 2});
    StepResult result;
    ASSERT_TRUE(engine_->Step(plan, &result).ok());
    const int free = engine_->free_blocks();
    const std::vector<float> computed = Read(sources_[0], tokens_, "", &found);
    EXPECT_EQ(found, 0);
    EXPECT_EQ(engine_->free_blocks(), free);
    EXPECT_EQ(Read(sources_[0], tokens_, "", &found), computed);
    EXPECT_EQ(found, std::min(kept, 2) * 16);
    const std::vector<int32_t> other = RandomIds(40, 101, 77);
    Read(sources_[0], other, "", &found);
    EXPECT_EQ(found, 0);
    EXPECT_EQ(Read(sources_[0], tokens_, "", &found), computed);
    EXPECT_EQ(found, kept == 100 ? 32 : kept == 3 ? 16 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, CachedBlocksTest,
                         ::testing::Values(kF32Formats, kInt8Formats,
                                           kInt8KeptAsBf16));

}  // namespace
}  // namespace trivium
