// States of sequences: forked, saved with prefixes, evicted, and short of
// memory; always with the bits of a sequence that is read alone.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

using Kind = MixerDescription::Kind;
using IdSpan = std::span<const int32_t>;

RandomTransformer::Shape ShapeOf(Kind kind) {
  RandomTransformer::Shape shape = RandomTransformer::LlamaShape();
  shape.encoder_layers = 0;
  shape.decoder_layers = 4;
  shape.window = 0;
  shape.max_positions = 2000;
  shape.mixer = kind;
  shape.mixes_beside = kind == Kind::kStateSpace;
  return shape;
}

class StatesTest : public ::testing::TestWithParam<Kind> {
 protected:
  StatesTest()
      : random_(ShapeOf(GetParam()), 7),
        engine_(NewEngine(random_, kInt8Formats)),
        tokens_(RandomIds(700, 101, 3)) {}

  std::vector<float> Read(Engine* engine, HypothesisId hypothesis,
                          IdSpan tokens) {
    StepPlan plan;
    plan.decode.push_back({.hypothesis = hypothesis,
                           .tokens = tokens,
                           .queries = {&kAllLogits, 1}});
    EXPECT_LE(engine->BlocksNeeded(plan), engine->free_blocks());
    StepResult result;
    EXPECT_TRUE(engine->Step(plan, &result).ok());
    const auto all = result.rows[0].logits[0].all;
    return {all.begin(), all.end()};
  }
  std::vector<float> Alone(IdSpan tokens) {
    return Decode(engine_.get(), kNoSource, tokens, tokens.size()).back();
  }
  // Begins with `tokens` and reads what is not found, `step` at a time.
  std::vector<float> BeginAndRead(Engine* engine, IdSpan tokens, size_t step,
                                  int found) {
    const auto [hypothesis, there] = engine->Begin(kNoSource, tokens, "");
    EXPECT_EQ(there, found);
    std::vector<float> logits;
    for (size_t at = there; at < tokens.size(); at += step) {
      logits = Read(engine, hypothesis,
                    tokens.subspan(at, std::min(step, tokens.size() - at)));
    }
    engine->ReleaseHypothesis(hypothesis);
    EXPECT_EQ(engine->free_blocks(), engine->limits().total_blocks);
    return logits;
  }

  // States are saved so seldom that they take no more blocks than the keys and
  // values of the tokens between them.
  int SavedEvery() const {
    const EngineLimits& limits = engine_->limits();
    int tokens = 64;
    while (tokens < 1024 &&
           limits.HypothesisBlocks(tokens) < 2 * limits.state_blocks) {
      tokens *= 2;
    }
    return tokens;
  }

  const RandomTransformer random_;
  const std::unique_ptr<Engine> engine_;
  const std::vector<int32_t> tokens_;
};

TEST_P(StatesTest, CountInAHypothesissBlocks) {
  const EngineLimits& limits = engine_->limits();
  EXPECT_GT(limits.state_blocks, 0);
  EXPECT_EQ(limits.HypothesisBlocks(0), 0);
  for (const int tokens : {1, 16, 17, 300}) {
    const HypothesisId hypothesis = engine_->AddHypothesis(kNoSource);
    Read(engine_.get(), hypothesis, IdSpan(tokens_).first(tokens));
    EXPECT_EQ(limits.total_blocks - engine_->free_blocks(),
              limits.HypothesisBlocks(tokens));
    engine_->ReleaseHypothesis(hypothesis);
  }
}

// A fork has the parent's state until it writes, and each its own after that.
TEST_P(StatesTest, ForksHaveStatesOfTheirOwn) {
  const IdSpan tokens = tokens_;
  const HypothesisId parent = engine_->AddHypothesis(kNoSource);
  Read(engine_.get(), parent, tokens.first(21));
  const int before = engine_->free_blocks();
  std::vector<HypothesisId> all = {parent};
  for (int i = 0; i < 3; ++i) all.push_back(engine_->Fork(parent));
  EXPECT_EQ(engine_->free_blocks(), before);
  std::vector<std::vector<int32_t>> texts;
  StepPlan plan;
  for (int i = 0; i < 4; ++i) {
    texts.emplace_back(tokens.begin(), tokens.begin() + 21);
    texts[i].insert(texts[i].end(), {i, 2 * i + 1});
    plan.decode.push_back({.hypothesis = all[i],
                           .tokens = IdSpan(texts[i]).subspan(21),
                           .queries = {&kAllLogits, 1}});
  }
  const int needed = engine_->BlocksNeeded(plan);
  EXPECT_GE(needed, 3 * engine_->limits().state_blocks);
  EXPECT_EQ(engine_->BlocksNeeded(plan), needed);
  StepResult result;
  ASSERT_TRUE(engine_->Step(plan, &result).ok());
  EXPECT_EQ(before - engine_->free_blocks(), needed);
  std::vector<std::vector<float>> logits;
  for (int i = 0; i < 4; ++i) {
    const auto row = result.rows[i].logits[0].all;
    logits.emplace_back(row.begin(), row.end());
    engine_->ReleaseHypothesis(all[i]);
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(logits[i], Alone(texts[i])) << i;
  EXPECT_EQ(engine_->free_blocks(), engine_->limits().total_blocks);
}

// A prefix is found at its last block border and, if a text leaves it earlier,
// at a border that does not depend on the prefix.
TEST_P(StatesTest, PrefixesAreFoundWhereStatesWereSaved) {
  const IdSpan tokens = tokens_;
  const std::vector<float> alone = Alone(tokens);
  EXPECT_EQ(BeginAndRead(engine_.get(), tokens, 97, 0), alone);
  EXPECT_EQ(BeginAndRead(engine_.get(), tokens, 700, 688), alone);
  std::vector<int32_t> other = tokens_;
  other[600] = (other[600] + 1) % 101;
  const std::vector<float> other_alone = Alone(other);
  const auto [hypothesis, found] = engine_->Begin(kNoSource, other, "");
  engine_->ReleaseHypothesis(hypothesis);
  EXPECT_EQ(found, 600 / SavedEvery() * SavedEvery());
  EXPECT_EQ(BeginAndRead(engine_.get(), other, 256, found), other_alone);
  // What the second text has saved does not replace the first one's.
  EXPECT_EQ(BeginAndRead(engine_.get(), tokens, 50, 688), alone);
}

// Two that go on from one saved state, and its bits stay as they were.
TEST_P(StatesTest, ASavedStateServesSeveral) {
  const IdSpan tokens = IdSpan(tokens_).first(40);
  BeginAndRead(engine_.get(), tokens, 40, 0);
  const std::vector<float> alone = Alone(tokens);
  const auto first = engine_->Begin(kNoSource, tokens, "");
  const auto second = engine_->Begin(kNoSource, tokens, "");
  EXPECT_EQ(first.found, 32);
  EXPECT_EQ(second.found, 32);
  EXPECT_EQ(Read(engine_.get(), first.hypothesis, tokens.subspan(32)), alone);
  Read(engine_.get(), first.hypothesis, tokens.first(9));
  EXPECT_EQ(Read(engine_.get(), second.hypothesis, tokens.subspan(32)), alone);
  engine_->ReleaseHypothesis(first.hypothesis);
  engine_->ReleaseHypothesis(second.hypothesis);
  EXPECT_EQ(BeginAndRead(engine_.get(), tokens, 1, 32), alone);
}

// What a finished or suspended hypothesis has read is found again where it
// ended at a block border.
TEST_P(StatesTest, CachesTheStateOfAWholeHypothesis) {
  const IdSpan tokens = tokens_;
  const HypothesisId hypothesis = engine_->AddHypothesis(kNoSource);
  Read(engine_.get(), hypothesis, tokens.first(48));
  engine_->CacheBlocks(hypothesis, tokens.first(48), "");
  // It may go on without changing what is cached.
  Read(engine_.get(), hypothesis, tokens.first(5));
  engine_->ReleaseHypothesis(hypothesis);
  EXPECT_EQ(BeginAndRead(engine_.get(), tokens.first(60), 12, 48),
            Alone(tokens.first(60)));
}

// With room for one hypothesis and no more, nothing is saved that its steps
// would lack, found states are overwritten, and bits stay the same.
TEST_P(StatesTest, SavingNeverTakesTheRoomOfAStep) {
  const EngineLimits& limits = engine_->limits();
  const IdSpan tokens = IdSpan(tokens_).first(100);
  const std::vector<float> alone = Alone(tokens);
  for (int more = 0; more <= 2 * limits.state_blocks + 2; ++more) {
    SCOPED_TRACE(more);
    const std::unique_ptr<Engine> small =
        NewEngine(random_, kInt8Formats,
                  (limits.HypothesisBlocks(100) + more) * limits.block_bytes);
    for (int i = 0; i < 3; ++i) {
      const auto [hypothesis, found] = small->Begin(kNoSource, tokens, "");
      std::vector<float> logits;
      for (size_t at = found; at < 100;) {
        const size_t step = std::min<size_t>(23, 100 - at);
        logits = Read(small.get(), hypothesis, tokens.subspan(at, step));
        at += step;
      }
      EXPECT_EQ(logits, alone);
      small->ReleaseHypothesis(hypothesis);
      EXPECT_EQ(small->free_blocks(), small->limits().total_blocks);
    }
  }
}

// A step that needs no block takes none that is cached, either.
TEST_P(StatesTest, StepsWithoutNewBlocksEvictNothing) {
  const EngineLimits& limits = engine_->limits();
  const IdSpan tokens = IdSpan(tokens_).first(65);
  for (int more = 1; more <= 4 * limits.state_blocks; ++more) {
    SCOPED_TRACE(more);
    const std::unique_ptr<Engine> small =
        NewEngine(random_, kInt8Formats,
                  (limits.HypothesisBlocks(65) + more) * limits.block_bytes);
    const auto found = [&] {
      const auto [hypothesis, tokens_found] =
          small->Begin(kNoSource, tokens, "");
      small->ReleaseHypothesis(hypothesis);
      return tokens_found;
    };
    const auto [hypothesis, none] = small->Begin(kNoSource, tokens, "");
    EXPECT_EQ(none, 0);
    Read(small.get(), hypothesis, tokens);
    small->ReleaseHypothesis(hypothesis);
    const HypothesisId other = small->AddHypothesis(kNoSource);
    Read(small.get(), other, tokens.subspan(50, 1));
    // There is room for both if there was room to save a state.
    const int cached = more >= limits.state_blocks ? 64 : 0;
    ASSERT_EQ(found(), cached);
    for (int i = 1; i < 12; ++i) {
      Read(small.get(), other, tokens.subspan(50 + i, 1));
      ASSERT_EQ(found(), cached);
    }
    small->ReleaseHypothesis(other);
  }
}

// Without room for a copy, a step overwrites a found state, which is then no
// longer found.
TEST_P(StatesTest, WithoutRoomAFoundStateIsOverwritten) {
  const EngineLimits& limits = engine_->limits();
  const IdSpan tokens = IdSpan(tokens_).first(40);
  const std::vector<float> alone = Alone(tokens);
  const std::unique_ptr<Engine> small =
      NewEngine(random_, kInt8Formats,
                (limits.HypothesisBlocks(40) + limits.HypothesisBlocks(16)) *
                    limits.block_bytes);
  EXPECT_EQ(BeginAndRead(small.get(), tokens, 40, 0), alone);
  const auto [hypothesis, found] = small->Begin(kNoSource, tokens, "");
  EXPECT_EQ(found, 32);
  const HypothesisId other = small->AddHypothesis(kNoSource);
  Read(small.get(), other, tokens.first(16));
  EXPECT_EQ(Read(small.get(), hypothesis, tokens.subspan(32)), alone);
  EXPECT_EQ(small->free_blocks(), 0);
  small->ReleaseHypothesis(hypothesis);
  small->ReleaseHypothesis(other);
  EXPECT_EQ(BeginAndRead(small.get(), tokens, 40, 0), alone);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StatesTest,
                         ::testing::Values(Kind::kConvolution,
                                           Kind::kGatedDelta, Kind::kStateSpace,
                                           Kind::kSelectiveScan));

}  // namespace
}  // namespace trivium
