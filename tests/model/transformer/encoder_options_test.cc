// The options of a source: what is computed and what is refused.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/transformer/transformer.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;
using Buckets = RelativeAttentionDescription::Buckets;

class EncoderOptionsTest : public ::testing::Test {
 protected:
  absl::StatusCode Code(const EncoderInput& input,
                        const SourceOptions& options = {.selection = {}}) {
    return engine_->AddSource(input, options).status().code();
  }

  RandomTransformer random_{{.decoder_layers = 0,
                             .positions = PositionEncoding::kLearned,
                             .type_vocabulary = 2,
                             .head = HeadKind::kFillMask},
                            7};
  std::unique_ptr<Engine> engine_ = NewEngine(random_, kF32Formats);
};

TEST_F(EncoderOptionsTest, ComputesLogitsOfChosenTokens) {
  const EncoderInput input = {{5, 6, 7, 8}, {0, 0, 1, 1}};
  const auto all = EncodeAlone(engine_.get(), input);
  ASSERT_TRUE(all.ok());
  const SourceId source = engine_
                              ->AddSource(input, {.logits = true,
                                                  .logits_positions = {3, 1},
                                                  .selection = {}})
                              .value();
  StepPlan plan;
  plan.encode.push_back({source, 2});
  StepResult result;
  ASSERT_TRUE(engine_->Step(plan, &result).ok());
  const std::span<const float> logits = engine_->HeadLogits(source);
  const size_t outputs = engine_->limits().head_outputs;
  ASSERT_EQ(outputs, 101u);
  ASSERT_EQ(logits.size(), 2 * outputs);
  const std::span<const float> every(all->logits);
  EXPECT_TRUE(std::ranges::equal(logits.first(outputs),
                                 every.subspan(3 * outputs, outputs)));
  EXPECT_TRUE(std::ranges::equal(logits.last(outputs),
                                 every.subspan(outputs, outputs)));
}

// More masks than one slice of logits has rows.
TEST_F(EncoderOptionsTest, TheBestLogitsAreThoseOfAll) {
  const EncoderInput input = {{5, 6, 7, 8}, {0, 0, 1, 1}};
  const auto all = EncodeAlone(engine_.get(), input);
  ASSERT_TRUE(all.ok());
  std::vector<int> positions;
  for (int i = 0; i < 25'000; ++i) positions.push_back(i % 3);
  const SourceId source = engine_
                              ->AddSource(input, {.logits = true,
                                                  .logits_positions = positions,
                                                  .logits_best = 7,
                                                  .selection = {}})
                              .value();
  StepPlan plan;
  plan.encode.push_back({source, 2});
  StepResult result;
  ASSERT_TRUE(engine_->Step(plan, &result).ok());
  EXPECT_TRUE(engine_->HeadLogits(source).empty());
  const std::span<const BestLogits> best = engine_->BestHeadLogits(source);
  ASSERT_EQ(best.size(), positions.size());
  const size_t outputs = engine_->limits().head_outputs;
  for (size_t i = 0; i < best.size(); ++i) {
    const auto logits =
        std::span<const float>(all->logits).subspan(i % 3 * outputs, outputs);
    ASSERT_EQ(best[i].best.size(), 7u);
    double sum = 0;
    for (const float logit : logits) {
      sum += std::exp(double{logit});
    }
    ASSERT_NEAR(best[i].log_sum_exp, std::log(sum), 1e-5);
    ASSERT_NEAR(best[i].Probability(best[i].best[6]),
                std::exp(best[i].best[6].logit) / sum, 1e-6);
    std::vector<float> sorted(logits.begin(), logits.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (size_t k = 0; k < 7; ++k) {
      ASSERT_EQ(best[i].best[k].logit, sorted[k]);
      ASSERT_EQ(best[i].best[k].logit, logits[best[i].best[k].token]);
    }
  }
  const SourceOptions too_many = {
      .logits = true, .logits_best = 1025, .selection = {}};
  EXPECT_TRUE(
      absl::IsInvalidArgument(engine_->AddSource(input, too_many).status()));
}

// Several blocks of the vocabulary, which threads divide.
TEST(SparseEmbeddingTest, PoolsTheLogitsOfEachText) {
  const RandomTransformer random({.decoder_layers = 0,
                                  .vocabulary = 2500,
                                  .positions = PositionEncoding::kLearned,
                                  .head = HeadKind::kFillMask},
                                 3);
  const std::vector<EncoderInput> texts = {
      {RandomIds(20, 2500, 1), {}}, {{7}, {}}, {RandomIds(33, 2500, 2), {}}};
  TransformerDescription description = random.description();
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    for (const auto& [sum, double_log] : {std::pair(false, false),
                                          {false, true},
                                          {true, false},
                                          {true, true}}) {
      description.head->sparse = VocabularyPooling{sum, double_log};
      const auto weights = Transformer::Create(description, formats);
      ASSERT_TRUE(weights.ok()) << weights.status();
      const auto engine = *TransformerEngine::Create(*weights, 0, 1);
      const auto team = *TransformerEngine::Create(*weights, 0, 3);
      StepPlan together;
      for (const EncoderInput& text : texts) {
        const SourceOptions wanted = {.sparse = true, .selection = {}};
        together.encode.push_back({*team->AddSource(text, wanted), 2});
      }
      StepResult result;
      ASSERT_TRUE(team->Step(together, &result).ok());
      for (size_t i = 0; i < texts.size(); ++i) {
        const SourceOptions both = {
            .logits = true, .sparse = true, .selection = {}};
        const SourceId source = *engine->AddSource(texts[i], both);
        StepPlan plan;
        plan.encode.push_back({source, 2});
        ASSERT_TRUE(engine->Step(plan, &result).ok());
        const std::span<const float> logits = engine->HeadLogits(source);
        const std::span<const SparseWeight> found =
            engine->SparseEmbedding(source);
        EXPECT_TRUE(std::ranges::equal(
            found, team->SparseEmbedding(together.encode[i].source)));
        auto next = found.begin();
        for (int32_t id = 0; id < 2500; ++id) {
          double pooled = 0;
          for (size_t at = id; at < logits.size(); at += 2500) {
            double weight = std::log1p(std::max(0.0, double{logits[at]}));
            if (double_log) weight = std::log1p(weight);
            pooled = sum ? pooled + weight : std::max(pooled, weight);
          }
          if (pooled == 0) continue;
          ASSERT_NE(next, found.end());
          ASSERT_EQ(next->id, id);
          ASSERT_NEAR(next->weight, pooled, 1e-5 * pooled + 1e-7);
          ++next;
        }
        EXPECT_EQ(next, found.end());
      }
    }
  }
}

TEST_F(EncoderOptionsTest, OnlySomeHeadsMakeSparseEmbeddings) {
  EXPECT_EQ(Code({{1, 2}, {}}, {.sparse = true, .selection = {}}),
            absl::StatusCode::kFailedPrecondition);
}

// Causal states do not change when padding follows.
TEST_F(EncoderOptionsTest, TheLastTokenIsTheLastThatIsNoPadding) {
  constexpr int32_t kPadding = 9;
  Shape shape = RandomTransformer::LlamaShape();
  shape.encoder_layers = 2;
  shape.decoder_layers = 0;
  shape.causal = true;
  shape.head = HeadKind::kClassify;
  shape.head_padding_id = kPadding;
  const RandomTransformer random(shape, 3);
  const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
  const auto logits = [&](std::vector<int32_t> ids) {
    const auto encoded = EncodeAlone(engine.get(), {std::move(ids), {}});
    EXPECT_TRUE(encoded.ok()) << encoded.status();
    return encoded.ok() ? encoded->logits : std::vector<float>();
  };
  const std::vector<float> text = logits({5, kPadding, 7});
  ASSERT_EQ(text.size(), 5u);
  EXPECT_EQ(logits({5, kPadding, 7, kPadding, kPadding}), text);
  EXPECT_NE(logits({5, kPadding, 7, 6}), text);
  EXPECT_EQ(logits({kPadding, kPadding, kPadding}), logits({kPadding}));
}

TEST_F(EncoderOptionsTest, LayersThatShareTensorsArePackedOnce) {
  const Shape shape = {.encoder_layers = 6, .decoder_layers = 0};
  Shape shared = shape;
  shared.distinct_layers = 1;
  const RandomTransformer six(shape, 1), one(shared, 1);
  const auto of_six = Transformer::Create(six.description(), kF32Formats);
  const auto of_one = Transformer::Create(one.description(), kF32Formats);
  ASSERT_TRUE(of_six.ok() && of_one.ok());
  EXPECT_LT((*of_one)->weight_bytes(), (*of_six)->weight_bytes() / 2);
  EXPECT_LT((*of_one)->parameters(), (*of_six)->parameters() / 2);
}

TEST_F(EncoderOptionsTest, DistancesOfTooManyPositionsAreRefused) {
  const RandomTransformer random({.encoder_layers = 2,
                                  .decoder_layers = 0,
                                  .positions = PositionEncoding::kNone,
                                  .relative = Buckets::kEach},
                                 1);
  TransformerDescription description = random.description();
  description.encoder->max_positions = 1 << 24;
  const auto status = Transformer::Create(description, kF32Formats).status();
  EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument,
                              "max_position_embeddings"));
}

TEST_F(EncoderOptionsTest, RefusesInputsOutsideTheModelsLimits) {
  EXPECT_EQ(Code({{1, 2}, {0}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code({{1, 2}, {0, 2}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code({{1, 2}, {0, -1}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code({{1, 2}, {}}, {.pooled = true, .selection = {}}),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Code({{1, 2}, {}},
                 {.logits = true, .logits_positions = {2}, .selection = {}}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code({{1, 2}, {}},
                 {.logits = true, .logits_positions = {-1}, .selection = {}}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code({{1, 2}, {}}, {.logits = true, .selection = {}}),
            absl::StatusCode::kOk);
}

}  // namespace
}  // namespace trivium
