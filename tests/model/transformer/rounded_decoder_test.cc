// A decoder in int8 and in bf16, compared with the slow reference in the same
// formats: products of rounded numbers, rounded keys and values, attention that
// rounds queries and weights, and the projection to the vocabulary.
//
// If a number lies near the middle between two representable ones, f32 may
// round it differently from double precision, and everything after it then
// differs by as much as is rounded at all. A comparison of arbitrary sequences
// would have to allow that much. So the test chooses what the decoder reads: it
// appends only tokens for which the reference finds no number near the middle
// between two. Then all roundings agree, and every row agrees as in f32.
//
// How near is near, as a share of the distance between two numbers:
// - int8, numbers computed from the encoder's states by one product: they have
//   gone through a handful of f32 operations, each off by 2^-24 of a number of
//   at most 255: 6 x 255 x 2^-24 = 1e-4.
// - int8, all others: an attention weight has 16 bits, and f32's softmax may
//   round a few of a row differently. Each is worth 1 / 65535 of the greatest,
//   hence 2e-3 with values of up to 127.
// - bf16: a sum of a hundred products in f32 is off by about 1e-6 of the
//   greatest, which is 1e-6 x 2^8 if the sum is of that size. A number a tenth
//   of that may be rounded differently, but is worth a tenth.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/isa.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/kernels/attention.h"
#include "model/kernels/runtime.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;

constexpr size_t kTargets = 18;  // more than a tile

class RoundedDecoderTest : public ::testing::TestWithParam<Shape> {
 protected:
  RoundedDecoderTest() : random_(GetParam(), 6) {}

  // How close numbers may come to the middle between two.
  struct Margins {
    double source;
    double others;
  };
  void ExpectEqual(const Formats& formats, const Margins& margins);

 private:
  // A source and the decoder's input, for which f32 rounds everything as the
  // reference does.
  struct Chosen {
    SourceId source;
    Matrix states;                 // [tokens, d_model]
    std::vector<int32_t> targets;  // [kTargets]
  };

  int32_t RandomToken() {
    return static_cast<int32_t>(generator_() % GetParam().vocabulary);
  }

  ReferenceTransformer::Decoded Decode(const Matrix& states,
                                       std::span<const int32_t> targets) {
    closest_tie_ = closest_source_tie_ = 1;
    return reference_->Decode(states, targets);
  }

  // The result has no source if the model has no encoder.
  absl::StatusOr<Chosen> Choose(int tokens) {
    if (GetParam().encoder_layers == 0) {
      Chosen chosen = {.source = kNoSource, .states = {}, .targets = {}};
      if (ChooseTargets(&chosen)) return chosen;
      return absl::NotFoundError(
          fmt::format("every target has near ties after {}, at best {}",
                      chosen.targets.size(), best_));
    }
    for (int tries = 0; tries < 100; ++tries) {
      Chosen chosen = AddSource(tokens);
      Decode(chosen.states, std::vector<int32_t>{0});
      if (closest_source_tie_ > margins_.source && ChooseTargets(&chosen)) {
        return chosen;
      }
      engine_->ReleaseSource(chosen.source);
    }
    return absl::NotFoundError("every source and target has near ties");
  }

  Chosen AddSource(int tokens) {
    std::vector<int32_t> ids;
    for (int i = 0; i < tokens; ++i) ids.push_back(RandomToken());
    Chosen chosen;
    chosen.source =
        engine_->AddSource({ids, {}}, {.states = States::kAll, .selection = {}})
            .value();
    StepPlan plan;
    plan.encode.push_back({chosen.source, GetParam().encoder_layers});
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    const std::span<const float> states = engine_->EncoderStates(chosen.source);
    chosen.states = Matrix(tokens, GetParam().d_model);
    chosen.states.data.assign(states.begin(), states.end());
    return chosen;
  }

  bool ChooseTargets(Chosen* chosen) {
    for (int tries = 0; tries < 2000; ++tries) {
      chosen->targets.push_back(RandomToken());
      Decode(chosen->states, chosen->targets);
      best_ = std::max(best_, closest_tie_);
      if (closest_tie_ <= margins_.others) chosen->targets.pop_back();
      if (chosen->targets.size() == kTargets) return true;
    }
    return false;
  }

  RandomTransformer random_;
  std::unique_ptr<Engine> engine_;
  std::optional<ReferenceTransformer> reference_;
  Margins margins_;
  double best_ = 0;
  double closest_tie_ = 1, closest_source_tie_ = 1;
  std::mt19937 generator_{7};
};

void RoundedDecoderTest::ExpectEqual(const Formats& formats,
                                     const Margins& margins) {
  // See hadamard.h.
  const bool passes_on_sums =
      GetParam().encoder_layers == 0 ||
      GetParam().norm_placement != RandomTransformer::NormPlacement::kAfter;
  const reference::Numbers numbers = {
      .operands = formats.operands,
      .kv = formats.decoder_kv,
      .rounds_queries = RoundsQueries(formats.decoder_kv),
      .hadamard = formats.operands != OperandType::kBf16 && passes_on_sums,
      .smoothing = {},
      .closest_tie = &closest_tie_,
      .closest_source_tie = &closest_source_tie_,
      .kept = std::make_shared<reference::Numbers::Kept>()};
  engine_ = NewEngine(random_, formats);
  reference_.emplace(random_.description(), reference::Numbers(), numbers);
  margins_ = margins;
  const int vocabulary = GetParam().vocabulary;
  const bool has_encoder = GetParam().encoder_layers > 0;
  for (const int tokens :
       has_encoder ? std::vector<int>{1, 16, 19} : std::vector<int>{0}) {
    SCOPED_TRACE(tokens);
    const auto chosen = Choose(tokens);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    const auto& [source, states, targets] = *chosen;
    const auto expected = Decode(states, targets);
    const AttentionSelection everything;
    const AttentionSelection* const cross = has_encoder ? &everything : nullptr;
    const auto work = [&](HypothesisId hypothesis, size_t first, size_t count) {
      return StepPlan::Decode{
          .hypothesis = hypothesis,
          .tokens = std::span(targets).subspan(first, count),
          .queries = {&kAllLogits, 1},
          .self_attention = &everything,
          .cross_attention = cross};
    };
    // One token at a time, and all at once.
    const HypothesisId steps = engine_->AddHypothesis(source);
    const HypothesisId prefill = engine_->AddHypothesis(source);
    StepResult result;
    for (size_t i = 0; i < targets.size(); ++i) {
      StepPlan plan;
      plan.decode.push_back(work(steps, i, 1));
      ASSERT_TRUE(engine_->Step(plan, &result).ok());
      const double* row = expected.logits.row(static_cast<int>(i));
      ExpectClose(result.rows[0].logits[0].all,
                  std::vector<double>(row, row + vocabulary), "step");
    }
    StepPlan plan;
    plan.decode.push_back(work(prefill, 0, targets.size()));
    ASSERT_TRUE(engine_->Step(plan, &result).ok());
    const double* last = expected.logits.row(static_cast<int>(kTargets) - 1);
    ExpectClose(result.rows[0].logits[0].all,
                std::vector<double>(last, last + vocabulary), "prefill");
    ExpectClose(result.rows[0].self_attention, expected.self_attention,
                "self-attention");
    ExpectClose(result.rows[0].cross_attention, expected.cross_attention,
                "cross-attention");
    engine_->ReleaseHypothesis(steps);
    engine_->ReleaseHypothesis(prefill);
    if (source != kNoSource) engine_->ReleaseSource(source);
  }
}

TEST_P(RoundedDecoderTest, Int8EqualsTheReferenceInInt8) {
  ExpectEqual(kInt8Formats, {.source = 2e-4, .others = 4e-3});
}

TEST_P(RoundedDecoderTest, Int4EqualsTheReferenceInInt4) {
  ExpectEqual(kInt4Formats, {.source = 2e-4, .others = 4e-3});
}

TEST_P(RoundedDecoderTest, Bf16EqualsTheReferenceInBf16) {
  if (ActiveIsa() < Isa::kAvx512Bf16) {
    GTEST_SKIP() << "skipped: bf16 decoders, which need AVX512_BF16 or AMX";
  }
  ExpectEqual(kBf16Formats, {.source = 2e-4, .others = 1e-3});
}

Shape Llama() {
  Shape shape = RandomTransformer::LlamaShape();
  shape.d_model = 36;
  shape.heads = 6;
  shape.decoder_layers = 1;
  shape.vocabulary = 401;
  return shape;
}

// Enough tokens to choose from that some will do for certain.
std::vector<Shape> RoundedShapes() {
  std::vector<Shape> shapes = {
      {.decoder_layers = 1, .vocabulary = 401},
      {.d_model = 20,
       .heads = 4,
       .feed_forward = 7,
       .decoder_layers = 2,
       .vocabulary = 401},
      {.d_model = 33,
       .heads = 3,
       .feed_forward = 50,
       .decoder_layers = 1,
       .vocabulary = 1025},
      {.d_model = 36,
       .heads = 6,
       .feed_forward = 24,
       .decoder_layers = 1,
       .vocabulary = 401,
       .norm_placement = RandomTransformer::NormPlacement::kBefore,
       .final_norm = true},
      {.d_model = 40,
       .heads = 1,
       .feed_forward = 24,
       .decoder_layers = 1,
       .vocabulary = 401,
       .positions = PositionEncoding::kLearned,
       .embedding_norm = true,
       .tied = false},
      Llama(),
      {.d_model = 36,
       .heads = 4,
       .kv_heads = 2,
       .feed_forward = 20,
       .decoder_layers = 1,
       .vocabulary = 401,
       .activation = Activation::kSwish,
       .experts = 3,
       .norm_placement = RandomTransformer::NormPlacement::kBefore,
       .norm_kind = NormTensors::Kind::kRms,
       .positions = PositionEncoding::kNone,
       .rotary_pairs = 4,
       .sinks = true,
       .final_norm = true},
      // T5Gemma 2's merged attention.
      {.d_model = 36,
       .heads = 4,
       .kv_heads = 2,
       .window = 6,
       .feed_forward = 20,
       .decoder_layers = 1,
       .vocabulary = 401,
       .gated = true,
       .norm_placement = RandomTransformer::NormPlacement::kBeforeAndOfOutput,
       .norm_kind = NormTensors::Kind::kRms,
       .biases = false,
       .positions = PositionEncoding::kNone,
       .rotary_pairs = 4,
       .head_norms = true,
       .final_norm = true,
       .merged = true},
      // Decoder-only: GPT-2's design, and OPT's narrow embeddings.
      {.d_model = 36,
       .heads = 3,
       .feed_forward = 24,
       .encoder_layers = 0,
       .decoder_layers = 1,
       .vocabulary = 401,
       .activation = Activation::kGeluTanh,
       .norm_placement = RandomTransformer::NormPlacement::kBefore,
       .positions = PositionEncoding::kLearned,
       .final_norm = true},
      {.d_model = 28,
       .heads = 2,
       .window = 5,
       .feed_forward = 30,
       .encoder_layers = 0,
       .decoder_layers = 1,
       .vocabulary = 401,
       .positions = PositionEncoding::kLearned,
       .embedding_width = 17},
  };
  std::mt19937 generator(8);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(generator() % (high - low + 1));
  };
  for (int i = 0; i < 4; ++i) {
    Shape shape = {.decoder_layers = 1, .vocabulary = 401};
    shape.heads = pick(1, 5);
    shape.d_model = shape.heads * pick(3, 40 / shape.heads);
    shape.feed_forward = pick(5, 40);
    shape.activation =
        static_cast<Activation>(pick(0, static_cast<int>(Activation::kTanh)));
    shapes.push_back(shape);
  }
  for (Shape shape : RandomTransformer::ModernDecoders()) {
    // Its root is no whole number: bf16 embeddings times one are ties
    // themselves, where nothing normalizes them.
    shape.d_model = 40;
    shape.decoder_layers = 1;
    shapes.push_back(shape);
  }
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(Shapes, RoundedDecoderTest,
                         ::testing::ValuesIn(RoundedShapes()));

}  // namespace
}  // namespace trivium
