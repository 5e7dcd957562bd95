#include "model/transformer/rotary.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/error_texts.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;

// Within half a unit in the last place of cos and sin of the f32 angles, even
// for angles of a hundred thousand radians.
TEST(RotaryTest, FarPositionsAreAsExactAsNearOnes) {
  RotaryDescription rotary;
  for (int i = 0; i < 64; ++i) {
    rotary.frequencies.push_back(static_cast<float>(std::pow(1e6, -i / 64.0)));
  }
  rotary.magnitude = 1.25f;
  std::vector<float> turn(128);
  for (const int position : {0, 1, 4095, 131071, 1 << 23}) {
    RotaryTurns::Turn(rotary, position, turn.data());
    for (int i = 0; i < 64; ++i) {
      const double angle = static_cast<float>(position) * rotary.frequencies[i];
      EXPECT_NEAR(turn[i], 1.25 * std::cos(angle), 1e-7);
      EXPECT_NEAR(turn[64 + i], 1.25 * std::sin(angle), 1e-7);
    }
  }
}

// At the positions of a long text: windows and full attention alternate, with
// two bases and layers without rotary positions.
TEST(RotaryTest, LongTextsEqualTheReference) {
  Shape shape = RandomTransformer::LlamaShape();
  shape.window = 100;
  shape.encoder_layers = 1;
  shape.decoder_layers = 3;
  shape.max_positions = 600;
  const RandomTransformer random(shape, 3);
  const ReferenceTransformer reference(random.description());
  const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
  std::mt19937 generator(4);
  std::vector<int32_t> tokens(shape.max_positions);
  for (int32_t& token : tokens) token = generator() % shape.vocabulary;
  const std::vector<int32_t> source = {5, 6, 7};
  // In chunks, the last of one token.
  const auto forced = ForceTargets(engine.get(), {source, {}}, tokens, 109);
  ASSERT_TRUE(forced.ok()) << forced.status();
  const auto expected =
      reference.Decode(reference.Encode(source).states, tokens);
  const std::span<const float> logits = forced->logits;
  for (int row = 108; row < shape.max_positions; row += 109) {
    const double* of_row = expected.logits.row(row);
    ExpectClose(logits.subspan(row * shape.vocabulary, shape.vocabulary),
                std::vector<double>(of_row, of_row + shape.vocabulary),
                "logits");
  }
}

TEST(RotaryTest, IsRefusedInCrossAndDisentangledAttention) {
  for (const bool cross : {false, true}) {
    const RandomTransformer random(
        {.relative = RelativeAttentionDescription::Buckets::kEach}, 1);
    TransformerDescription description = random.description();
    if (cross) description.encoder->relative_attention.reset();
    description.decoder->relative_attention.reset();
    StackDescription& stack =
        cross ? *description.decoder : *description.encoder;
    stack.rotary.push_back({.frequencies = {1}});
    LayerDescription& layer = stack.layer[1];
    (cross ? *layer.cross_attention : layer.self_attention).geometry.rotary = 0;
    const auto status = Transformer::Create(description, kF32Formats).status();
    EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "rotary"));
  }
}

}  // namespace
}  // namespace trivium
