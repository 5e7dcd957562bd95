#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/kernels/attention.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

class EngineShapeTest
    : public ::testing::TestWithParam<RandomTransformer::Shape> {};

TEST_P(EngineShapeTest, F32EqualsTheReference) {
  const RandomTransformer random(GetParam(), 1);
  const ReferenceTransformer reference(random.description());
  const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
  const int vocabulary = GetParam().vocabulary;
  for (const int tokens : {1, 5, 16, 17, 33}) {
    const std::vector<int32_t> ids = RandomIds(tokens, vocabulary, tokens);
    const std::vector<int32_t> targets = RandomIds(19, vocabulary, 99 + tokens);
    const auto source = engine->AddSource(
        {ids, {}},
        {.states = States::kAll, .attention = true, .selection = {}});
    ASSERT_TRUE(source.ok()) << source.status();
    StepPlan plan;
    plan.encode.push_back({*source, GetParam().encoder_layers});
    const HypothesisId hypothesis = engine->AddHypothesis(*source);
    const AttentionSelection everything;
    plan.decode.push_back({.hypothesis = hypothesis,
                           .tokens = targets,
                           .queries = {&kAllLogits, 1},
                           .self_attention = &everything,
                           .cross_attention = &everything});
    StepResult result;
    ASSERT_TRUE(engine->Step(plan, &result).ok());

    const auto encoded = reference.Encode(ids);
    ExpectClose(engine->EncoderStates(*source), encoded.states.data, "states");
    ExpectClose(engine->EncoderAttention(*source), encoded.attention,
                "encoder attention");
    const auto decoded = reference.Decode(encoded.states, targets);
    ExpectClose(result.rows[0].self_attention, decoded.self_attention,
                "self-attention");
    ExpectClose(result.rows[0].cross_attention, decoded.cross_attention,
                "cross-attention");
    const double* last = decoded.logits.row(18);
    ExpectClose(result.rows[0].logits[0].all,
                std::vector<double>(last, last + vocabulary), "prefill");
    const auto logits = Decode(engine.get(), *source, targets, 1);
    for (size_t i = 0; i < logits.size(); ++i) {
      const double* row = decoded.logits.row(static_cast<int>(i));
      ExpectClose(logits[i], std::vector<double>(row, row + vocabulary),
                  "step");
    }
    engine->ReleaseHypothesis(hypothesis);
    engine->ReleaseSource(*source);
    EXPECT_EQ(engine->free_blocks(), engine->limits().total_blocks);
  }
}

// Prefill, chunked prefill and single steps give the same bits, and so does a
// source that is encoded a few layers at a time.
TEST_P(EngineShapeTest, ChunksDoNotChangeBits) {
  const RandomTransformer random(GetParam(), 2);
  const int vocabulary = GetParam().vocabulary;
  const std::vector<int32_t> ids = RandomIds(23, vocabulary, 1);
  const std::vector<int32_t> targets = RandomIds(20, vocabulary, 2);
  for (const Formats& formats :
       {kF32Formats, GetParam().recurrent ? kInt8KeptAsBf16 : kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random, formats);
    const auto encode = [&](int layers_a_step) {
      const SourceId source =
          engine
              ->AddSource({ids, {}}, {.states = States::kAll, .selection = {}})
              .value();
      StepPlan plan;
      plan.encode.push_back({source, layers_a_step});
      StepResult result;
      for (int i = 0; i < GetParam().encoder_layers; i += layers_a_step) {
        EXPECT_TRUE(engine->Step(plan, &result).ok());
      }
      return source;
    };
    const SourceId whole = encode(GetParam().encoder_layers);
    const SourceId cut = encode(1);
    EXPECT_TRUE(std::ranges::equal(engine->EncoderStates(whole),
                                   engine->EncoderStates(cut)));
    const auto prefill = Decode(engine.get(), whole, targets, 20);
    const auto chunks = Decode(engine.get(), cut, targets, 7);
    const auto steps = Decode(engine.get(), whole, targets, 1);
    EXPECT_EQ(prefill.back(), steps.back());
    EXPECT_EQ(chunks.back(), steps.back());
    EXPECT_EQ(chunks[0], steps[6]);
  }
}

using Shape = RandomTransformer::Shape;
INSTANTIATE_TEST_SUITE_P(
    Shapes, EngineShapeTest,
    ::testing::Values(
        Shape{},
        Shape{.d_model = 20, .heads = 4, .feed_forward = 7, .vocabulary = 13},
        Shape{.d_model = 33,
              .heads = 3,
              .feed_forward = 50,
              .vocabulary = 1025,
              .activation = Activation::kSwish},
        Shape{.d_model = 64,
              .heads = 1,
              .encoder_layers = 3,
              .decoder_layers = 1,
              .vocabulary = 2050,
              .activation = Activation::kGelu},
        Shape{.d_model = 48,
              .heads = 6,
              .activation = Activation::kGeluTanh,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .final_norm = true},
        Shape{.d_model = 40,
              .heads = 5,
              .encoder_layers = 1,
              .decoder_layers = 3,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .tied = false},
        Shape{.d_model = 36,
              .heads = 3,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .positions_after_norm = true},
        // Biases by distance, as in T5.
        Shape{.d_model = 30,
              .heads = 3,
              .head_size = 11,
              .gated = true,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .norm_kind = NormTensors::Kind::kRms,
              .biases = false,
              .positions = PositionEncoding::kNone,
              .final_norm = true,
              .relative = RelativeAttentionDescription::Buckets::kT5},
        Shape{.d_model = 24,
              .heads = 3,
              .decoder_layers = 3,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .biases = false,
              .positions = PositionEncoding::kNone,
              .final_norm = true,
              .relative = RelativeAttentionDescription::Buckets::kT5,
              .bias_of_each_layer = true},
        Shape{.d_model = 26,
              .vocabulary = 9,
              .positions = PositionEncoding::kSinusoidalToEnd,
              .position_padding_id = 1},
        // Heads that share keys and values and whose sizes do not add up to
        // d_model.
        Shape{.heads = 4, .kv_heads = 2},
        Shape{.d_model = 40,
              .heads = 6,
              .kv_heads = 1,
              .head_size = 12,
              .attention_scale = 0.4f},
        Shape{.d_model = 24, .heads = 3, .kv_heads = 3, .head_size = 17},
        // The norms and feed-forwards of LLaMA, OLMo 2 and Gemma 2.
        Shape{.activation = Activation::kSwish,
              .gated = true,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .norm_kind = NormTensors::Kind::kRms,
              .biases = false,
              .final_norm = true},
        Shape{.d_model = 36,
              .feed_forward = 51,
              .gated = true,
              .norm_placement = RandomTransformer::NormPlacement::kOfOutput,
              .norm_kind = NormTensors::Kind::kRms},
        Shape{.feed_forward = 40,
              .activation = Activation::kGeluTanh,
              .gated = true,
              .norm_placement =
                  RandomTransformer::NormPlacement::kBeforeAndOfOutput,
              .norm_kind = NormTensors::Kind::kRms,
              .one_plus_weight = true,
              .final_norm = true},
        Shape{.norm_placement =
                  RandomTransformer::NormPlacement::kBeforeAndOfOutput,
              .biases = false},
        // Rotary positions over whole heads and over a part of them; norms of
        // queries and keys.
        Shape{.heads = 4,
              .kv_heads = 1,
              .encoder_layers = 3,
              .decoder_layers = 3,
              .positions = PositionEncoding::kNone,
              .rotary_pairs = 4},
        Shape{.heads = 4,
              .kv_heads = 2,
              .head_size = 22,
              .window = 6,
              .gated = true,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .norm_kind = NormTensors::Kind::kRms,
              .biases = false,
              .positions = PositionEncoding::kNone,
              .rotary_pairs = 7,
              .head_norms = true,
              .final_norm = true},
        Shape{.d_model = 40,
              .heads = 5,
              .head_size = 9,
              .norm_kind = NormTensors::Kind::kRms,
              .one_plus_weight = true,
              .rotary_pairs = 1,
              .head_norms = true},
        // Two experts per token; sinks.
        Shape{.heads = 4,
              .kv_heads = 2,
              .feed_forward = 24,
              .activation = Activation::kSwish,
              .experts = 5,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .norm_kind = NormTensors::Kind::kRms,
              .biases = false,
              .positions = PositionEncoding::kNone,
              .rotary_pairs = 4,
              .final_norm = true},
        Shape{.feed_forward = 33,
              .activation = Activation::kSwish,
              .experts = 2,
              .weigh_over_all = true,
              .sinks = true},
        Shape{.heads = 4,
              .kv_heads = 1,
              .window = 5,
              .feed_forward = 31,
              .experts = 4,
              .gate_clip = GateClip{.alpha = 1.702f, .limit = 1.5f},
              .norm_placement =
                  RandomTransformer::NormPlacement::kBeforeAndOfOutput,
              .sinks = true},
        // Windows within a tile, over its border, and over several.
        Shape{.window = 1},
        Shape{.heads = 6, .kv_heads = 2, .head_size = 8, .window = 7},
        Shape{.window = 18, .encoder_layers = 3, .decoder_layers = 3},
        // The decoder's self-attention sees the source, too.
        Shape{.merged = true},
        Shape{.heads = 4,
              .kv_heads = 2,
              .head_size = 22,
              .window = 5,
              .decoder_layers = 3,
              .gated = true,
              .norm_placement =
                  RandomTransformer::NormPlacement::kBeforeAndOfOutput,
              .norm_kind = NormTensors::Kind::kRms,
              .one_plus_weight = true,
              .biases = false,
              .positions = PositionEncoding::kNone,
              .rotary_pairs = 11,
              .head_norms = true,
              .final_norm = true,
              .merged = true},
        Shape{.heads = 3,
              .head_size = 7,
              .window = 18,
              .sinks = true,
              .merged = true},
        // A recurrence instead of the decoder's self-attention.
        Shape{.recurrent = true},
        Shape{.d_model = 33,
              .heads = 3,
              .decoder_layers = 3,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .biases = false,
              .final_norm = true,
              .recurrent = true}));

// Sequences of many lengths, all in the same steps, compared with each alone.
TEST(EngineBatchTest, RowsDoNotSeeEachOther) {
  const RandomTransformer random(
      {.d_model = 64, .heads = 4, .feed_forward = 128, .vocabulary = 1500}, 3);
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random, formats, 16 << 20);
    constexpr int kSequences = 70;
    std::vector<SourceId> sources;
    std::vector<HypothesisId> hypotheses;
    std::vector<std::vector<int32_t>> targets;
    StepPlan encode;
    for (int i = 0; i < kSequences; ++i) {
      sources.push_back(
          engine->AddSource({RandomIds(1 + i % 40, 1500, i), {}}, {}).value());
      encode.encode.push_back({sources[i], 2});
      hypotheses.push_back(engine->AddHypothesis(sources[i]));
      targets.push_back(RandomIds(1 + i % 13, 1500, 1000 + i));
    }
    StepResult result;
    ASSERT_TRUE(engine->Step(encode, &result).ok());
    std::vector<std::vector<float>> together(kSequences);
    for (int step = 0; step < 13; ++step) {
      StepPlan plan;
      std::vector<int> members;
      for (int i = 0; i < kSequences; ++i) {
        if (step >= static_cast<int>(targets[i].size())) continue;
        members.push_back(i);
        plan.decode.push_back({.hypothesis = hypotheses[i],
                               .tokens = std::span(targets[i]).subspan(step, 1),
                               .queries = {&kAllLogits, 1}});
      }
      ASSERT_TRUE(engine->Step(plan, &result).ok());
      for (size_t m = 0; m < members.size(); ++m) {
        const auto all = result.rows[m].logits[0].all;
        together[members[m]].assign(all.begin(), all.end());
      }
    }
    for (int i = 0; i < kSequences; ++i) {
      const SourceId alone =
          engine->AddSource({RandomIds(1 + i % 40, 1500, i), {}}, {}).value();
      StepPlan plan;
      plan.encode.push_back({alone, 2});
      ASSERT_TRUE(engine->Step(plan, &result).ok());
      EXPECT_EQ(Decode(engine.get(), alone, targets[i], 1).back(), together[i])
          << "sequence " << i;
      engine->ReleaseSource(alone);
    }
  }
}

}  // namespace
}  // namespace trivium
