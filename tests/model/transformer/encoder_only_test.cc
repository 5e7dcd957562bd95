// The features that encoder-only families use, on random models of many shapes,
// compared with the slow reference.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/isa.h"
#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/kernels/attention.h"
#include "model/kernels/runtime.h"
#include "model/transformer/transformer.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;
using Buckets = RelativeAttentionDescription::Buckets;

EncoderInput RandomInput(int tokens, const Shape& shape) {
  std::mt19937 generator(tokens);
  EncoderInput input;
  for (int i = 0; i < tokens; ++i) {
    input.ids.push_back(static_cast<int32_t>(generator() % shape.vocabulary));
    if (shape.type_vocabulary > 0) {
      input.type_ids.push_back(
          static_cast<int32_t>(generator() % shape.type_vocabulary));
    }
  }
  return input;
}

double Cosine(std::span<const float> a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

class EncoderOnlyTest : public ::testing::TestWithParam<Shape> {};

TEST_P(EncoderOnlyTest, F32EqualsTheReference) {
  const RandomTransformer random(GetParam(), 1);
  const ReferenceTransformer reference(random.description());
  const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
  for (const int tokens : {1, 5, 16, 17, 33, 64}) {
    SCOPED_TRACE(tokens);
    const EncoderInput input = RandomInput(tokens, GetParam());
    const auto encoded = EncodeAlone(engine.get(), input);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const auto expected = reference.Encode(input.ids, input.type_ids);
    ExpectClose(encoded->states, expected.states.data, "states");
    std::vector<double> hidden;
    for (const Matrix& layer : expected.hidden) {
      hidden.insert(hidden.end(), layer.data.begin(), layer.data.end());
    }
    ExpectClose(encoded->hidden, hidden, "hidden states");
    ExpectClose(encoded->attention, expected.attention, "attention");
    ExpectClose(encoded->pooled, expected.pooled.data, "pooled");
    ExpectClose(encoded->logits, expected.logits.data, "logits");
  }
}

TEST_P(EncoderOnlyTest, Int8StaysNearTheReference) {
  const RandomTransformer random(GetParam(), 2);
  const ReferenceTransformer reference(random.description());
  const std::unique_ptr<Engine> engine = NewEngine(random, kInt8Formats);
  const EncoderInput input = RandomInput(33, GetParam());
  const auto encoded = EncodeAlone(engine.get(), input);
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  const auto expected = reference.Encode(input.ids, input.type_ids);
  EXPECT_GT(Cosine(encoded->states, expected.states.data), 0.99);
  if (!encoded->logits.empty()) {
    EXPECT_GT(Cosine(encoded->logits, expected.logits.data), 0.98);
  }
}

// Rows in which all roundings agree are as close as in f32; the others differ
// by a step or two of a number.
void ExpectNearlyEveryRow(Engine* engine, const ReferenceTransformer& reference,
                          const Shape& shape) {
  int rows = 0, equal = 0;
  for (const int tokens : {1, 5, 16, 17, 33, 64}) {
    const EncoderInput input = RandomInput(tokens, shape);
    const auto encoded = EncodeAlone(engine, input);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const auto expected = reference.Encode(input.ids, input.type_ids).states;
    double most = 0;
    for (const double value : expected.data) {
      most = std::max(most, std::fabs(value));
    }
    for (int i = 0; i < tokens; ++i) {
      double error = 0;
      for (int k = 0; k < shape.d_model; ++k) {
        const double difference = std::fabs(
            expected.row(i)[k] - encoded->states[i * shape.d_model + k]);
        // Compare each: a maximum would lose a NaN.
        ASSERT_LE(difference, 0.03 * most) << "token " << i << " of " << tokens;
        error = std::max(error, difference);
      }
      ++rows;
      equal += error <= 1e-4 * most;
    }
  }
  EXPECT_GE(equal, rows * 9 / 10) << "of " << rows;
}

// Compares one layer with the reference's int8.
TEST_P(EncoderOnlyTest, Int8EqualsTheReferenceInInt8) {
  Shape shape = GetParam();
  shape.encoder_layers = 1;
  // Numbers of bf16 alone, as the projection of trigrams reads them, are often
  // halfway between two integers.
  shape.trigrams = false;
  shape.head.reset();
  const RandomTransformer random(shape, 4);
  const auto weights = Transformer::Create(random.description(), kInt8Formats);
  ASSERT_TRUE(weights.ok()) << weights.status();
  reference::Numbers numbers = {.operands = OperandType::kInt8,
                                .kv = KvType::kBf16,
                                .rounds_queries = RoundsQueries(KvType::kBf16),
                                .smoothing = {}};
  const Layer& layer = (*weights)->encoder()->layers[0];
  const LayerDescription& tensors = random.description().encoder->layer[0];
  const AttentionDescription& self = tensors.self_attention;
  const auto smooth = [&](const LinearTensors& of, const Linear& linear) {
    EXPECT_FALSE(linear.smoothing().empty());
    numbers.smoothing[of.weight] = {linear.smoothing().begin(),
                                    linear.smoothing().end()};
  };
  smooth(self.query, layer.self_attention.projection);
  smooth(self.key, layer.self_attention.projection);
  smooth(self.value, layer.self_attention.values_given
                         ? layer.bottleneck->input
                         : layer.self_attention.projection);
  if (const auto& bottleneck = tensors.bottleneck) {
    smooth(bottleneck->input, layer.bottleneck->input);
    if (bottleneck->attention) {
      smooth(*bottleneck->attention, layer.bottleneck->input);
    }
    smooth(bottleneck->output, layer.bottleneck->output);
  }
  for (size_t i = 0; i < tensors.earlier_feed_forwards.size(); ++i) {
    smooth(tensors.earlier_feed_forwards[i].up,
           layer.earlier_feed_forwards[i].feed_forward.experts[0].up);
  }
  if (self.near.has_value()) {
    smooth(self.near->value, layer.self_attention.projection);
  }
  if (self.global.has_value()) {
    const auto& [query, key, value] = *self.global;
    for (const LinearTensors* tensors : {&query, &key, &value}) {
      smooth(*tensors, layer.self_attention.projection);
    }
  }
  // Experts are not smoothed.
  if (!tensors.experts.has_value()) {
    const Linear& up = layer.feed_forward.experts[0].up;
    smooth(tensors.up, up);
    if (tensors.gate.has_value()) smooth(*tensors.gate, up);
  }
  const ReferenceTransformer reference(random.description(), numbers);
  ExpectNearlyEveryRow(NewEngine(random, kInt8Formats).get(), reference, shape);
}

TEST_P(EncoderOnlyTest, Bf16EqualsTheReferenceInBf16) {
  if (ActiveIsa() < Isa::kAvx512Bf16) {
    GTEST_SKIP() << "skipped: bf16 encoders, which need AVX512_BF16 or AMX";
  }
  Shape shape = GetParam();
  shape.encoder_layers = 1;
  shape.head.reset();
  const RandomTransformer random(shape, 4);
  const ReferenceTransformer reference(
      random.description(), {.operands = OperandType::kBf16,
                             .kv = KvType::kBf16,
                             .rounds_queries = RoundsQueries(KvType::kBf16),
                             .smoothing = {}});
  ExpectNearlyEveryRow(NewEngine(random, kBf16Formats).get(), reference, shape);
}

// Returns the rows of `chosen` from all layers' hidden states.
std::vector<float> OfLayers(const std::vector<int>& chosen,
                            const std::vector<float>& all, int layers) {
  const size_t size = all.size() / (layers + 1);
  std::vector<float> some;
  for (const int layer : chosen) {
    some.insert(some.end(), all.begin() + layer * size,
                all.begin() + (layer + 1) * size);
  }
  return some;
}

// Bits are the same alone and in one run, or in company and a layer at a time.
TEST_P(EncoderOnlyTest, OtherSourcesDoNotChangeBits) {
  const RandomTransformer random(GetParam(), 3);
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random, formats);
    const int layers = engine->limits().encoder_layers;
    SourceOptions options = {.states = States::kAll,
                             .pooled = engine->limits().pooled_size > 0,
                             .logits = engine->limits().head_outputs > 0,
                             .selection = {}};
    const std::vector<int> lengths = {3, 40, 17, 1, 64, 29, 8};
    StepPlan plan;
    std::vector<SourceId> sources;
    const std::vector<std::vector<int>> chosen = {
        {0}, {layers}, {0, layers}, {}, {layers / 2}, {0, layers}, {layers}};
    for (size_t i = 0; i < lengths.size(); ++i) {
      const int tokens = lengths[i];
      options.hidden_layers = chosen[i];
      sources.push_back(
          engine->AddSource(RandomInput(tokens, GetParam()), options).value());
      plan.encode.push_back({sources.back(), 1});
    }
    StepResult result;
    for (int i = 0; i < engine->limits().encoder_layers; ++i) {
      ASSERT_TRUE(engine->Step(plan, &result).ok());
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
      const auto alone =
          EncodeAlone(engine.get(), RandomInput(lengths[i], GetParam()));
      ASSERT_TRUE(alone.ok());
      EXPECT_TRUE(
          std::ranges::equal(engine->EncoderStates(sources[i]), alone->states));
      EXPECT_TRUE(
          std::ranges::equal(engine->HiddenStates(sources[i]),
                             OfLayers(chosen[i], alone->hidden, layers)));
      EXPECT_TRUE(
          std::ranges::equal(engine->PooledOutput(sources[i]), alone->pooled));
      EXPECT_TRUE(
          std::ranges::equal(engine->HeadLogits(sources[i]), alone->logits));
    }
  }
}

// The last layer runs only for tokens that are read, with the same bits.
TEST_P(EncoderOnlyTest, RequestingFewerOutputsDoesNotChangeBits) {
  const RandomTransformer random(GetParam(), 5);
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random, formats);
    const EncoderInput input = RandomInput(20, GetParam());
    const auto all = EncodeAlone(engine.get(), input);
    ASSERT_TRUE(all.ok()) << all.status();
    const size_t width = GetParam().d_model;
    const std::span<const float> states = all->states, logits = all->logits;
    const size_t outputs = engine->limits().head_outputs;
    const bool pooled = !all->pooled.empty();
    const bool every_token = logits.size() > outputs;

    StepPlan plan;
    const auto add = [&](const SourceOptions& options) {
      const SourceId source = engine->AddSource(input, options).value();
      plan.encode.push_back({source, engine->limits().encoder_layers});
      return source;
    };
    const SourceId nothing = add({.cross_attention = false, .selection = {}});
    StepResult result;
    ASSERT_TRUE(engine->Step(plan, &result).ok());
    EXPECT_TRUE(engine->EncoderStates(nothing).empty());
    plan.encode.clear();
    const SourceId first = add(
        {.cross_attention = false, .states = States::kFirst, .selection = {}});
    const SourceId last = add(
        {.cross_attention = false, .states = States::kLast, .selection = {}});
    const SourceId head = add({.cross_attention = false,
                               .pooled = pooled,
                               .logits = outputs > 0,
                               .selection = {}});
    const SourceId everything = add(
        {.cross_attention = false, .states = States::kAll, .selection = {}});
    const SourceId some =
        add({.cross_attention = false,
             .logits = every_token,
             .logits_positions =
                 every_token ? std::vector<int>{17, 3, 17} : std::vector<int>(),
             .selection = {}});
    add({.cross_attention = false, .selection = {}});
    // Hidden states of the last layer; nothing else reads all tokens of it.
    const int layers = engine->limits().encoder_layers;
    const SourceId hidden = add({.cross_attention = false,
                                 .hidden_layers = {0, layers},
                                 .selection = {}});
    ASSERT_TRUE(engine->Step(plan, &result).ok());

    EXPECT_TRUE(std::ranges::equal(engine->HiddenStates(hidden),
                                   OfLayers({0, layers}, all->hidden, layers)));
    EXPECT_TRUE(std::ranges::equal(
        engine->HiddenStates(hidden).last(states.size()), states));
    EXPECT_TRUE(engine->HiddenStates(everything).empty());
    EXPECT_TRUE(
        std::ranges::equal(engine->EncoderStates(first), states.first(width)));
    EXPECT_TRUE(
        std::ranges::equal(engine->EncoderStates(last), states.last(width)));
    EXPECT_TRUE(std::ranges::equal(engine->PooledOutput(head), all->pooled));
    EXPECT_TRUE(std::ranges::equal(engine->HeadLogits(head), logits));
    EXPECT_TRUE(std::ranges::equal(engine->EncoderStates(everything), states));
    if (!every_token) continue;
    const std::span<const float> chosen = engine->HeadLogits(some);
    ASSERT_EQ(chosen.size(), 3 * outputs);
    for (int i = 0; const size_t token : {17, 3, 17}) {
      EXPECT_TRUE(std::ranges::equal(chosen.subspan(i++ * outputs, outputs),
                                     logits.subspan(token * outputs, outputs)));
    }
  }
}

// A decoder that gives embeddings or scores.
Shape CausalEncoder() {
  Shape shape = RandomTransformer::LlamaShape();
  shape.encoder_layers = 3;
  shape.decoder_layers = 0;
  shape.sinks = true;
  shape.causal = true;
  shape.head = HeadKind::kClassify;
  return shape;
}

// One whose texts often end with padding, as ids are few.
Shape PaddedClassifier() {
  Shape shape = CausalEncoder();
  shape.vocabulary = 3;
  shape.head_padding_id = 1;
  return shape;
}

// ModernBERT's classifier of the mean.
Shape ModernBert() {
  return {.d_model = 24,
          .heads = 3,
          .window = 6,
          .feed_forward = 40,
          .encoder_layers = 4,
          .decoder_layers = 0,
          .activation = Activation::kGelu,
          .gated = true,
          .norm_placement = RandomTransformer::NormPlacement::kBefore,
          .biases = false,
          .positions = PositionEncoding::kNone,
          .rotary_pairs = 4,
          .embedding_norm = true,
          .bare_first_layer = true,
          .final_norm = true,
          .head = HeadKind::kClassify,
          .head_input = HeadDescription::Input::kMean};
}

// GTE's and Nomic BERT's layers, with EuroBERT's "late" classifier.
Shape RotaryBert() {
  return {.decoder_layers = 0,
          .activation = Activation::kSwish,
          .gated = true,
          .positions = PositionEncoding::kNone,
          .rotary_pairs = 8,
          .embedding_norm = true,
          .type_vocabulary = 2,
          .head = HeadKind::kClassify,
          .head_input = HeadDescription::Input::kMeanOfDense};
}

// Nomic BERT's experts.
Shape PlainExperts() {
  return {.decoder_layers = 0,
          .activation = Activation::kGelu,
          .experts = 4,
          .plain_experts = true,
          .weigh_over_all = true,
          .positions = PositionEncoding::kNone,
          .rotary_pairs = 8,
          .embedding_norm = true};
}

// Jina's BERT with norms of queries and keys.
Shape AlibiWithNorms() {
  return {.d_model = 48,
          .heads = 3,
          .decoder_layers = 0,
          .activation = Activation::kGelu,
          .gated = true,
          .norm_placement = RandomTransformer::NormPlacement::kOfSumAndAfter,
          .positions = PositionEncoding::kNone,
          .wide_head_norms = true,
          .alibi = true,
          .embedding_norm = true,
          .pooler = true};
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, EncoderOnlyTest,
    ::testing::Values(
        // BERT, and variants of it.
        Shape{.decoder_layers = 0,
              .activation = Activation::kGelu,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .type_vocabulary = 2,
              .pooler = true,
              .head = HeadKind::kClassify},
        Shape{.d_model = 45,
              .heads = 9,
              .feed_forward = 70,
              .encoder_layers = 5,
              .decoder_layers = 0,
              .vocabulary = 1500,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .type_vocabulary = 3,
              .embedding_width = 13,
              .distinct_layers = 2,
              .head = HeadKind::kFillMask},
        Shape{.d_model = 24,
              .heads = 1,
              .encoder_layers = 1,
              .decoder_layers = 0,
              .vocabulary = 11,
              .positions = PositionEncoding::kLearned,
              .position_padding_id = 1,
              .pooler = true,
              .head = HeadKind::kTag},
        Shape{.d_model = 36,
              .heads = 3,
              .encoder_layers = 3,
              .decoder_layers = 0,
              .positions = PositionEncoding::kNone,
              .embedding_norm = true,
              .relative = Buckets::kLogarithmic,
              .pooler = true,
              .head = HeadKind::kDiscriminate},
        Shape{.d_model = 48,
              .heads = 2,
              .decoder_layers = 0,
              .positions = PositionEncoding::kLearned,
              .relative = Buckets::kEach,
              .head = HeadKind::kAnswer},
        Shape{.d_model = 40,
              .heads = 8,
              .encoder_layers = 4,
              .decoder_layers = 0,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .final_norm = true,
              .relative = Buckets::kT5,
              .head = HeadKind::kClassify},
        // LongT5.
        Shape{.d_model = 40,
              .heads = 5,
              .window = 9,
              .encoder_layers = 3,
              .decoder_layers = 0,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .norm_kind = NormTensors::Kind::kRms,
              .biases = false,
              .positions = PositionEncoding::kNone,
              .final_norm = true,
              .relative = Buckets::kT5,
              .block = 3},
        // Longformer, without and with a question.
        Shape{.d_model = 40,
              .heads = 5,
              .window = 9,
              .encoder_layers = 3,
              .decoder_layers = 0,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .global_tokens = GlobalTokens{},
              .head = HeadKind::kClassify},
        Shape{.d_model = 40,
              .heads = 4,
              .kv_heads = 2,
              .window = 3,
              .decoder_layers = 0,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .global_tokens = GlobalTokens{.end_id = 7},
              .head = HeadKind::kAnswer},
        CausalEncoder(), PaddedClassifier(), ModernBert(), RotaryBert(),
        PlainExperts(), AlibiWithNorms(),
        // MobileBERT, without and with norms.
        Shape{.d_model = 40,
              .heads = 4,
              .feed_forward = 48,
              .encoder_layers = 3,
              .decoder_layers = 0,
              .norm_kind = NormTensors::Kind::kNone,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .type_vocabulary = 2,
              .embedding_width = 16,
              .bottleneck = 20,
              .shared_bottleneck = true,
              .earlier_feed_forwards = 2,
              .trigrams = true,
              .pooler = true,
              .head = HeadKind::kClassify},
        Shape{.d_model = 40,
              .heads = 5,
              .decoder_layers = 0,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .embedding_width = 40,
              .bottleneck = 30,
              .earlier_feed_forwards = 1,
              .trigrams = true,
              .head = HeadKind::kTag},
        Shape{.decoder_layers = 0,
              .positions = PositionEncoding::kLearned,
              .earlier_feed_forwards = 3},
        // ConvBERT.
        Shape{.d_model = 48,
              .heads = 3,
              .head_size = 8,
              .decoder_layers = 0,
              .activation = Activation::kGelu,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .type_vocabulary = 2,
              .embedding_width = 20,
              .near_width = 9,
              .head = HeadKind::kFillMask},
        Shape{.decoder_layers = 0,
              .gated = true,
              .experts = 5,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .positions = PositionEncoding::kLearned,
              .causal = true}));

}  // namespace
}  // namespace trivium
