// Blocks of keys and values: shared, requested, refused.
#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/kernels/attention.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

class EngineBlockTest : public ::testing::Test {
 protected:
  EngineBlockTest()
      : random_({.max_positions = 32}, 4),
        // The fewest blocks that the engine allows: 2 + 2 for one longest
        // sequence.
        engine_(NewEngine(random_, kF32Formats,
                          4 * 2 * KvTileBytes({KvType::kF32, 2, 16}))) {
    source_ = engine_->AddSource({{1, 2, 3}, {}}, {}).value();
    plan_.encode.push_back({source_, 2});
    EXPECT_TRUE(engine_->Step(plan_, &result_).ok());
    plan_.Clear();
  }

  void Append(HypothesisId hypothesis, std::span<const int32_t> tokens) {
    plan_.decode.push_back({.hypothesis = hypothesis,
                            .tokens = tokens,
                            .queries = {&kAllLogits, 1}});
  }
  absl::Status Step() {
    const absl::Status status = engine_->Step(plan_, &result_);
    plan_.Clear();
    return status;
  }

  RandomTransformer random_;
  std::unique_ptr<Engine> engine_;
  SourceId source_;
  StepPlan plan_;
  StepResult result_;
};

TEST_F(EngineBlockTest, ForksShareBlocksUntilOneWrites) {
  ASSERT_EQ(engine_->limits().total_blocks, 4);
  const std::vector<int32_t> tokens = RandomIds(20, 101, 5);
  const HypothesisId parent = engine_->AddHypothesis(source_);
  Append(parent, std::span(tokens).first(10));
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(engine_->free_blocks(), 2);
  const HypothesisId child = engine_->Fork(parent);
  EXPECT_EQ(engine_->free_blocks(), 2);
  // Both write to the shared block: one of them needs a copy.
  Append(parent, std::span(tokens).subspan(10, 1));
  Append(child, std::span(tokens).subspan(11, 1));
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(engine_->free_blocks(), 1);
  const std::vector<float> of_child(result_.rows[1].logits[0].all.begin(),
                                    result_.rows[1].logits[0].all.end());
  engine_->ReleaseHypothesis(parent);
  engine_->ReleaseHypothesis(child);
  EXPECT_EQ(engine_->free_blocks(), 3);

  std::vector<int32_t> path(tokens.begin(), tokens.begin() + 10);
  path.push_back(tokens[11]);
  EXPECT_EQ(Decode(engine_.get(), source_, path, 1).back(), of_child);
}

// So a server that runs for long does not grow.
TEST_F(EngineBlockTest, ReleasedHypothesesAreUsedAgain) {
  const HypothesisId first = engine_->AddHypothesis(source_);
  const HypothesisId fork = engine_->Fork(first);
  for (int i = 0; i < 3; ++i) {
    engine_->ReleaseHypothesis(fork);
    EXPECT_EQ(engine_->Fork(first), fork);
  }
  engine_->ReleaseHypothesis(first);
  EXPECT_EQ(engine_->AddHypothesis(source_), first);
}

TEST_F(EngineBlockTest, AStepWithoutBlocksChangesNothing) {
  const std::vector<int32_t> tokens = RandomIds(32, 101, 6);
  const HypothesisId parent = engine_->AddHypothesis(source_);
  Append(parent, std::span(tokens).first(10));
  ASSERT_TRUE(Step().ok());
  std::vector<HypothesisId> children;
  for (int i = 0; i < 3; ++i) children.push_back(engine_->Fork(parent));
  // Four writers of one block need three copies; two blocks are free.
  Append(parent, std::span(tokens).subspan(10, 1));
  for (const HypothesisId child : children) {
    Append(child, std::span(tokens).subspan(10, 1));
  }
  EXPECT_EQ(Step().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(engine_->free_blocks(), 2);
  engine_->ReleaseHypothesis(children[2]);
  Append(parent, std::span(tokens).subspan(10, 1));
  Append(children[0], std::span(tokens).subspan(10, 1));
  Append(children[1], std::span(tokens).subspan(10, 1));
  EXPECT_TRUE(Step().ok());
  EXPECT_EQ(engine_->free_blocks(), 0);
}

TEST_F(EngineBlockTest, RefusesInputsOutsideTheModelsLimits) {
  EXPECT_EQ(engine_->AddSource({{}, {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->AddSource({{101}, {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->AddSource({{-1}, {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->AddSource({RandomIds(33, 101, 1), {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const HypothesisId hypothesis = engine_->AddHypothesis(source_);
  const std::vector<int32_t> tokens = RandomIds(33, 101, 1);
  Append(hypothesis, tokens);
  EXPECT_EQ(Step().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<int32_t> wrong = {101};
  Append(hypothesis, wrong);
  EXPECT_EQ(Step().code(), absl::StatusCode::kInvalidArgument);
}

// Rows without a query are not projected; the others have the same bits.
TEST_F(EngineBlockTest, ProjectsOnlyRowsWithQueries) {
  const std::vector<int32_t> tokens = RandomIds(20, 101, 7);
  const auto expected = Decode(engine_.get(), source_, tokens, 1);
  const std::vector<int32_t> watched = {3};
  const LogitsQuery queries[] = {
      {.all = true}, {}, {.watched = watched}, {.top_k = 2}};
  const HypothesisId hypothesis = engine_->AddHypothesis(source_);
  plan_.decode.push_back(
      {.hypothesis = hypothesis, .tokens = std::span(tokens).first(12)});
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(result_.projected_rows, 0);
  EXPECT_TRUE(result_.rows[0].logits.empty());
  EXPECT_TRUE(result_.rows[0].states.empty());
  plan_.decode.push_back({.hypothesis = hypothesis,
                          .tokens = std::span(tokens).subspan(12),
                          .queries = queries,
                          .states = true});
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(result_.projected_rows, 3);
  const std::span<const LogitsRow> logits = result_.rows[0].logits;
  ASSERT_EQ(logits.size(), 4u);
  EXPECT_TRUE(std::ranges::equal(logits[0].all, expected[16]));
  EXPECT_TRUE(logits[1].best.empty() && logits[1].all.empty());
  EXPECT_EQ(logits[2].watched[0], expected[18][3]);
  EXPECT_EQ(logits[3].best[0].logit, std::ranges::max(expected[19]));
  EXPECT_EQ(result_.rows[0].states.size(), 8u * 32);
  // A token's states are the same as alone.
  const std::vector<float> last(result_.rows[0].states.end() - 32,
                                result_.rows[0].states.end());
  engine_->ReleaseHypothesis(hypothesis);
  const HypothesisId again = engine_->AddHypothesis(source_);
  for (size_t i = 0; i < tokens.size(); ++i) {
    plan_.decode.push_back({.hypothesis = again,
                            .tokens = std::span(tokens).subspan(i, 1),
                            .states = i + 1 == tokens.size()});
    ASSERT_TRUE(Step().ok());
  }
  EXPECT_TRUE(std::ranges::equal(result_.rows[0].states, last));
}

TEST(TransformerTest, ACacheTooSmallForAnySequenceIsRefused) {
  const RandomTransformer random({}, 5);
  auto transformer = Transformer::Create(random.description(), kF32Formats);
  ASSERT_TRUE(transformer.ok());
  const auto engine = TransformerEngine::Create(*transformer, 1000);
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace trivium
