// Decoders without an encoder: hypotheses have no source, and read their prompt
// first.
#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/kernels/attention.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;
using Placement = RandomTransformer::NormPlacement;

std::vector<int32_t> Prompt(int count, int vocabulary, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(generator() % vocabulary);
  return ids;
}

// The published designs in small, and shapes that fit neither vectors nor
// tiles.
std::vector<Shape> Shapes() {
  const Shape gpt2 = {.d_model = 48,
                      .heads = 3,
                      .feed_forward = 192,
                      .encoder_layers = 0,
                      .vocabulary = 307,
                      .activation = Activation::kGeluTanh,
                      .norm_placement = Placement::kBefore,
                      .positions = PositionEncoding::kLearned,
                      .final_norm = true};
  Shape gpt = gpt2;
  gpt.norm_placement = Placement::kAfter;
  gpt.final_norm = false;
  Shape gpt_neo = gpt2;
  gpt_neo.window = 7;
  gpt_neo.attention_scale = 1;
  Shape opt = gpt2;
  opt.embedding_width = 20;
  opt.activation = Activation::kRelu;
  std::vector<Shape> shapes = {gpt2, gpt, gpt_neo, opt};
  std::mt19937 generator(4);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(generator() % (high - low + 1));
  };
  for (int i = 0; i < 8; ++i) {
    Shape shape = shapes[i % shapes.size()];
    shape.heads = pick(1, 5);
    shape.d_model = shape.heads * pick(3, 24);
    shape.feed_forward = pick(5, 130);
    shape.decoder_layers = pick(1, 4);
    shape.vocabulary = pick(11, 1100);
    shape.embedding_width = i % 4 == 3 ? shape.d_model + pick(1, 9) : 0;
    shape.window = pick(0, 1) * pick(1, 20);
    shapes.push_back(shape);
  }
  for (const Shape& shape : RandomTransformer::ModernDecoders()) {
    shapes.push_back(shape);
  }
  return shapes;
}

class DecoderOnlyTest : public ::testing::TestWithParam<Shape> {
 protected:
  DecoderOnlyTest() : random_(GetParam(), 5) {}

  std::vector<int32_t> Ids(int count, uint32_t seed) const {
    return Prompt(count, GetParam().vocabulary, seed);
  }

  const RandomTransformer random_;
};

TEST_P(DecoderOnlyTest, F32EqualsTheReference) {
  const ReferenceTransformer reference(random_.description());
  const std::unique_ptr<Engine> engine = NewEngine(random_, kF32Formats);
  EXPECT_EQ(engine->limits().encoder_layers, 0);
  EXPECT_EQ(engine->limits().max_source_tokens, 0);
  const int vocabulary = GetParam().vocabulary;
  for (const int tokens : {1, 5, 16, 17, 33}) {
    SCOPED_TRACE(tokens);
    const std::vector<int32_t> targets = Ids(tokens, tokens);
    const auto expected = reference.Decode({}, targets);
    for (const int step : {1, 7, tokens}) {
      const auto forced = ForceTargets(engine.get(), {}, targets, step);
      ASSERT_TRUE(forced.ok()) << forced.status();
      ExpectClose(forced->self_attention, expected.self_attention,
                  "self-attention");
      EXPECT_TRUE(forced->cross_attention.empty());
      if (step == 1) {
        ExpectClose(forced->logits, expected.logits.data, "logits");
      } else {
        const double* last = expected.logits.row(tokens - 1);
        ExpectClose(std::span(forced->logits).last(vocabulary),
                    std::vector<double>(last, last + vocabulary), "prefill");
      }
    }
  }
  EXPECT_EQ(engine->free_blocks(), engine->limits().total_blocks);
}

// Prefill, chunked prefill and single steps, alone and in company.
TEST_P(DecoderOnlyTest, ChunksAndOtherSequencesDoNotChangeBits) {
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random_, formats);
    const std::vector<int32_t> targets = Ids(20, 2);
    const auto last = [&](int step) {
      const auto forced = ForceTargets(engine.get(), {}, targets, step);
      EXPECT_TRUE(forced.ok()) << forced.status();
      const auto row = std::span(forced->logits).last(GetParam().vocabulary);
      return std::vector<float>(row.begin(), row.end());
    };
    const std::vector<float> alone = last(1);
    EXPECT_EQ(last(7), alone);
    EXPECT_EQ(last(20), alone);

    StepPlan plan;
    std::vector<std::vector<int32_t>> others;
    for (int i = 0; i < 40; ++i) others.push_back(Ids(1 + i % 19, 100 + i));
    others[17] = targets;
    for (const std::vector<int32_t>& tokens : others) {
      plan.decode.push_back({.hypothesis = engine->AddHypothesis(kNoSource),
                             .tokens = tokens,
                             .queries = {&kAllLogits, 1}});
    }
    StepResult result;
    ASSERT_TRUE(engine->Step(plan, &result).ok());
    EXPECT_TRUE(std::ranges::equal(result.rows[17].logits[0].all, alone));
  }
}

// A prompt that was read before is found, but not with another salt.
TEST_P(DecoderOnlyTest, FindsPromptsThatWereReadBefore) {
  const std::unique_ptr<Engine> engine = NewEngine(random_, kInt8Formats);
  const std::vector<int32_t> prompt = Ids(37, 3);
  const auto read = [&](std::string_view salt, int found) {
    const Engine::Beginning begun = engine->Begin(kNoSource, prompt, salt);
    EXPECT_EQ(begun.found, found) << salt;
    StepPlan plan;
    plan.decode.push_back({.hypothesis = begun.hypothesis,
                           .tokens = std::span(prompt).subspan(begun.found),
                           .queries = {&kAllLogits, 1}});
    StepResult result;
    EXPECT_TRUE(engine->Step(plan, &result).ok());
    const auto all = result.rows[0].logits[0].all;
    engine->ReleaseHypothesis(begun.hypothesis);
    return std::vector<float>(all.begin(), all.end());
  };
  const std::vector<float> first = read("a", 0);
  EXPECT_EQ(read("a", 32), first);
  EXPECT_EQ(read("b", 0), first);
}

// After truncation, blocks and bits are as if the tokens had never been read,
// even if another hypothesis still has them.
TEST_P(DecoderOnlyTest, TruncatedTokensLeaveNoTrace) {
  if (GetParam().mixer) GTEST_SKIP() << "states do not go back";
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random_, formats);
    const int free = engine->free_blocks();
    const std::vector<int32_t> tokens = Ids(40, 3);
    const std::vector<int32_t> wrong = Ids(20, 4);
    const std::vector<float> expected =
        Decode(engine.get(), kNoSource, tokens, 40).back();
    for (const int kept : {1, 15, 16, 17, 31, 32}) {
      SCOPED_TRACE(kept);
      const HypothesisId hypothesis = engine->AddHypothesis(kNoSource);
      const auto read = [&](HypothesisId by, std::span<const int32_t> more) {
        StepPlan plan;
        plan.decode.push_back(
            {.hypothesis = by, .tokens = more, .queries = {&kAllLogits, 1}});
        EXPECT_LE(engine->BlocksNeeded(plan), engine->free_blocks());
        StepResult result;
        EXPECT_TRUE(engine->Step(plan, &result).ok());
        const auto all = result.rows[0].logits[0].all;
        return std::vector<float>(all.begin(), all.end());
      };
      const auto all = std::span<const int32_t>(tokens);
      read(hypothesis, all.first(kept));
      read(hypothesis, wrong);
      const HypothesisId fork = engine->Fork(hypothesis);
      const std::vector<float> after = read(fork, all.first(3));
      engine->Truncate(fork, kept + 20);
      engine->Truncate(hypothesis, kept);
      EXPECT_EQ(read(hypothesis, all.subspan(kept)), expected);
      EXPECT_EQ(read(fork, all.first(3)), after);
      // Registered blocks of truncated tokens are removed from the index.
      engine->CacheBlocks(hypothesis, tokens, "");
      engine->Truncate(hypothesis, 20);
      read(hypothesis, wrong);
      const Engine::Beginning begun = engine->Begin(kNoSource, tokens, "");
      EXPECT_EQ(read(begun.hypothesis, all.subspan(begun.found)), expected);
      for (const HypothesisId one : {hypothesis, fork, begun.hypothesis}) {
        engine->ReleaseHypothesis(one);
      }
      EXPECT_EQ(engine->free_blocks(), free);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DecoderOnlyTest,
                         ::testing::ValuesIn(Shapes()));

TEST(DecoderOnlyErrorsTest, RefusesSources) {
  const RandomTransformer random({.encoder_layers = 0}, 1);
  const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
  const absl::Status status = engine->AddSource({{1, 2}, {}}, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

}  // namespace
}  // namespace trivium
