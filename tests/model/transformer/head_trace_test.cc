// Tests that a traced head has the numbers that the engine computes: each step
// follows from the one before, and what the reference knows equals it.
#include "model/head_trace.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/transformer/head_tap.h"
#include "model/transformer/transformer.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;

// A cut of what the reference has for all layers and heads.
std::vector<double> MapOf(const std::vector<double>& all, const Shape& shape,
                          const HeadTrace& trace) {
  const size_t cells = static_cast<size_t>(trace.queries) * trace.keys;
  const size_t plane =
      static_cast<size_t>(trace.choice.layer) * shape.heads + trace.choice.head;
  return {all.begin() + plane * cells, all.begin() + (plane + 1) * cells};
}

// The softmax of one row of scores, over the keys that it sees.
std::vector<double> Softmax(const HeadTrace& trace, int row) {
  std::vector<double> weights(trace.keys, 0.0);
  double sum = 0;
  for (int j = trace.seen_begin[row]; j < trace.seen_end[row]; ++j) {
    const double bias = trace.bias.columns > 0 ? trace.bias.Row(row)[j] : 0.0;
    weights[j] = std::exp(trace.scores.Row(row)[j] + bias);
    sum += weights[j];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Checks each step against the one before. `rounds`: attention rounds queries
// to 8 bits or bf16, each number by up to max|q| / 254, and weights.
void ExpectConsistent(const HeadTrace& trace, bool rounds) {
  for (int i = 0; i < trace.queries; ++i) {
    const std::vector<double> weights = Softmax(trace, i);
    std::vector<double> sum(trace.sum.columns, 0.0);
    for (int j = trace.seen_begin[i]; j < trace.seen_end[i]; ++j) {
      double product = 0, keys = 0, largest = 0;
      for (int c = 0; c < trace.query.columns; ++c) {
        product += double{trace.query.Row(i)[c]} * trace.key.Row(j)[c];
        keys += std::fabs(trace.key.Row(j)[c]);
        largest = std::max(largest, std::fabs(double{trace.query.Row(i)[c]}));
      }
      const double bound =
          2e-4 + (rounds ? trace.scale * keys * largest / 254 : 0);
      EXPECT_NEAR(trace.scores.Row(i)[j], trace.scale * product, bound)
          << i << " at " << j;
      EXPECT_NEAR(trace.weights.Row(i)[j], weights[j], 1e-5) << i << " " << j;
      for (int c = 0; c < trace.sum.columns; ++c) {
        sum[c] += double{trace.weights.Row(i)[j]} * trace.value.Row(j)[c];
      }
    }
    const float* const joined =
        trace.joined.Row(i) + trace.choice.head * trace.sum.columns;
    for (int c = 0; c < trace.sum.columns; ++c) {
      EXPECT_NEAR(trace.sum.Row(i)[c], sum[c], rounds ? .05 : 2e-4) << i;
      EXPECT_EQ(joined[c], trace.sum.Row(i)[c]);
    }
    if (trace.norm_of_sum || trace.norm_of_output) continue;
    for (int c = 0; c < trace.input.columns; ++c) {
      EXPECT_NEAR(trace.result.Row(i)[c],
                  trace.input.Row(i)[c] + trace.output.Row(i)[c], 1e-5);
    }
  }
}

class HeadTraceTest : public ::testing::TestWithParam<Shape> {
 protected:
  static constexpr int kSource = 21, kTarget = 19;

  HeadTrace Asked(bool cross, int layer, int head) const {
    HeadTrace trace;
    trace.choice = {.cross = cross, .layer = layer, .head = head};
    trace.queries = kTarget;
    trace.keys = cross ? kSource : kTarget;
    return trace;
  }
  SourceId Encoded(Engine* engine, std::optional<HeadChoice> choice,
                   int layers_a_step) const {
    SourceOptions options;
    options.states = States::kAll;
    options.traced_head = choice;
    const SourceId source = engine->AddSource({ids_, {}}, options).value();
    StepPlan plan;
    plan.encode.push_back({source, layers_a_step});
    StepResult result;
    for (int i = 0; i < GetParam().encoder_layers; i += layers_a_step) {
      EXPECT_TRUE(engine->Step(plan, &result).ok());
    }
    return source;
  }
  // Reads the target in chunks; returns the last token's logits.
  std::vector<float> Read(Engine* engine, SourceId source, int chunk,
                          HeadTrace* trace) const {
    const HypothesisId hypothesis = engine->AddHypothesis(source);
    std::vector<float> logits;
    for (int at = 0; at < kTarget; at += chunk) {
      const auto tokens = std::span(targets_).subspan(
          at, std::min<size_t>(chunk, kTarget - at));
      StepPlan plan;
      plan.decode.push_back({.hypothesis = hypothesis,
                             .tokens = tokens,
                             .queries = {&kAllLogits, 1},
                             .trace = trace});
      StepResult result;
      EXPECT_TRUE(engine->Step(plan, &result).ok());
      logits.assign(result.rows[0].logits[0].all.begin(),
                    result.rows[0].logits[0].all.end());
    }
    engine->ReleaseHypothesis(hypothesis);
    return logits;
  }

  const RandomTransformer random_{GetParam(), 3};
  const std::vector<int32_t> ids_ =
      RandomIds(kSource, GetParam().vocabulary, 1);
  const std::vector<int32_t> targets_ =
      RandomIds(kTarget, GetParam().vocabulary, 2);
};

TEST_P(HeadTraceTest, EqualsTheReference) {
  const Shape& shape = GetParam();
  const ReferenceTransformer reference(random_.description());
  const auto encoded = reference.Encode(ids_);
  const auto decoded = reference.Decode(encoded.states, targets_);
  const std::unique_ptr<Engine> engine = NewEngine(random_, kF32Formats);
  const int layer = shape.encoder_layers - 1, head = shape.heads - 1;
  const SourceId source =
      Encoded(engine.get(), HeadChoice{.layer = layer, .head = head}, 1);
  const HeadTrace* const encoder = engine->TracedHead(source);
  ASSERT_NE(encoder, nullptr);
  ExpectConsistent(*encoder, /*rounds=*/false);
  ExpectClose(encoder->weights.values,
              MapOf(encoded.attention, shape, *encoder), "encoder's weights");
  ExpectClose(encoder->embedded.values, encoded.hidden[0].data, "embeddings");
  ExpectClose(encoder->input.values, encoded.hidden[layer].data, "input");
  EXPECT_EQ(encoder->layers, shape.encoder_layers);
  EXPECT_EQ(encoder->heads, shape.heads);
  for (const bool cross : {false, true}) {
    HeadTrace trace = Asked(cross, shape.decoder_layers - 1, 0);
    Read(engine.get(), source, kTarget, &trace);
    ExpectConsistent(trace, /*rounds=*/false);
    ExpectClose(trace.weights.values,
                MapOf(cross ? decoded.cross_attention : decoded.self_attention,
                      shape, trace),
                "decoder's weights");
    EXPECT_EQ(trace.seen_end[0], cross ? kSource : 1);
  }
}

TEST_P(HeadTraceTest, TheEmbeddingIsTheSumOfItsParts) {
  if (GetParam().embedding_norm) GTEST_SKIP() << "a norm comes behind it";
  const std::unique_ptr<Engine> engine = NewEngine(random_, kF32Formats);
  const SourceId source = Encoded(engine.get(), HeadChoice{}, 1);
  const HeadTrace& trace = *engine->TracedHead(source);
  for (size_t i = 0; i < trace.embedded.values.size(); ++i) {
    const float position =
        trace.position.columns > 0 ? trace.position.values[i] : 0.0f;
    EXPECT_EQ(trace.embedded.values[i], trace.token.values[i] + position);
  }
}

// A trace changes no bits, and its own do not depend on chunks.
TEST_P(HeadTraceTest, ChangesNoBits) {
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random_, formats);
    const SourceId plain = Encoded(engine.get(), std::nullopt, 1);
    const SourceId traced = Encoded(engine.get(), HeadChoice{}, 1);
    const SourceId whole =
        Encoded(engine.get(), HeadChoice{}, GetParam().encoder_layers);
    EXPECT_TRUE(std::ranges::equal(engine->EncoderStates(plain),
                                   engine->EncoderStates(traced)));
    EXPECT_EQ(engine->TracedHead(plain), nullptr);
    EXPECT_EQ(engine->TracedHead(traced)->result.values,
              engine->TracedHead(whole)->result.values);
    for (const bool cross : {false, true}) {
      HeadTrace one = Asked(cross, 0, 0), cut = one;
      const auto logits = Read(engine.get(), plain, kTarget, nullptr);
      EXPECT_EQ(Read(engine.get(), plain, kTarget, &one), logits);
      EXPECT_EQ(Read(engine.get(), plain, 5, &cut), logits);
      EXPECT_EQ(one.scores.values, cut.scores.values);
      EXPECT_EQ(one.weights.values, cut.weights.values);
      EXPECT_EQ(one.key.values, cut.key.values);
      EXPECT_EQ(one.value.values, cut.value.values);
      EXPECT_EQ(one.joined.values, cut.joined.values);
      EXPECT_EQ(one.result.values, cut.result.values);
    }
  }
}

// In int8 keys and values are what the tiles hold, so scores differ from q . k
// by the rounding of q alone.
TEST_P(HeadTraceTest, HasTheNumbersThatInt8Rounds) {
  const std::unique_ptr<Engine> engine = NewEngine(random_, kInt8Formats);
  const SourceId source = Encoded(engine.get(), HeadChoice{}, 1);
  ExpectConsistent(*engine->TracedHead(source), /*rounds=*/true);
  for (const bool cross : {false, true}) {
    HeadTrace trace = Asked(cross, 0, 0);
    Read(engine.get(), source, kTarget, &trace);
    ExpectConsistent(trace, /*rounds=*/true);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, HeadTraceTest,
    ::testing::Values(
        Shape{}, Shape{.d_model = 20, .heads = 4, .vocabulary = 40},
        Shape{.d_model = 48,
              .heads = 6,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .final_norm = true},
        Shape{.d_model = 40,
              .heads = 5,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true}));

TEST(HeadTraceChecksTest, RefusesHeadsThatAreNotThere) {
  const RandomTransformer random(Shape{}, 1);
  const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
  SourceOptions options;
  options.traced_head = HeadChoice{.layer = 99};
  EXPECT_THAT(engine->AddSource({{1, 2}, {}}, options),
              IsError(absl::StatusCode::kInvalidArgument, "layer"));
  options.traced_head = HeadChoice{.head = 99};
  EXPECT_THAT(engine->AddSource({{1, 2}, {}}, options),
              IsError(absl::StatusCode::kInvalidArgument, "head"));
  options.traced_head = HeadChoice{.head = -1};
  EXPECT_THAT(engine->AddSource({{1, 2}, {}}, options),
              IsError(absl::StatusCode::kInvalidArgument, "head"));
}

TEST(HeadTraceChecksTest, RefusesHeadsThatReadMoreThanTokens) {
  const Shape narrow = {.decoder_layers = 0, .bottleneck = 16};
  const Shape blocks = {.decoder_layers = 0,
                        .positions = PositionEncoding::kNone,
                        .relative = RelativeAttentionDescription::Buckets::kT5,
                        .block = 4};
  const Shape global = {.decoder_layers = 0, .global_tokens = GlobalTokens{}};
  for (const Shape& shape : {narrow, blocks, global}) {
    const RandomTransformer random(shape, 1);
    const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
    SourceOptions options;
    options.traced_head = HeadChoice{};
    EXPECT_THAT(engine->AddSource({{1, 2}, {}}, options),
                IsError(absl::StatusCode::kInvalidArgument, "model"));
  }
}

TEST(HeadTraceChecksTest, RefusesHeadsThatSeeTwoSequences) {
  const RandomTransformer random(Shape{.merged = true}, 1);
  const auto weights = Transformer::Create(random.description(), kF32Formats);
  ASSERT_TRUE(weights.ok()) << weights.status();
  for (const bool cross : {false, true}) {
    EXPECT_THAT(CheckTracedHead(**weights, /*decoder=*/true, {.cross = cross}),
                IsError(absl::StatusCode::kInvalidArgument, "softmax"));
  }
  EXPECT_EQ(CheckTracedHead(**weights, /*decoder=*/false, {}),
            absl::OkStatus());
}

}  // namespace
}  // namespace trivium
