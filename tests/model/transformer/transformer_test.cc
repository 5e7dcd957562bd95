#include "model/transformer/transformer.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;

std::shared_ptr<const Transformer> Create(const RandomTransformer& random) {
  auto transformer = Transformer::Create(random.description(), kF32Formats);
  EXPECT_TRUE(transformer.ok()) << transformer.status();
  return *std::move(transformer);
}

// Every member that a description may have, in one or two models.
std::vector<Shape> AllTensors() {
  return {Shape{.d_model = 64,
                .positions = PositionEncoding::kLearned,
                .embedding_norm = true,
                .final_norm = true,
                .tied = false},
          Shape{.d_model = 64,
                .decoder_layers = 0,
                .positions = PositionEncoding::kLearned,
                .embedding_norm = true,
                .type_vocabulary = 3,
                .embedding_width = 32,
                .distinct_layers = 1,
                .pooler = true,
                .head = HeadKind::kFillMask},
          Shape{.decoder_layers = 0,
                .relative = RelativeAttentionDescription::Buckets::kLogarithmic,
                .head = HeadKind::kDiscriminate},
          Shape{.decoder_layers = 0,
                .relative = RelativeAttentionDescription::Buckets::kT5},
          Shape{.gated = true, .rotary_pairs = 4, .head_norms = true},
          Shape{.experts = 3, .sinks = true}};
}

TEST(TransformerTest, EveryTensorIsCountedOnce) {
  for (const Shape& shape : AllTensors()) {
    const RandomTransformer random(shape, 1);
    EXPECT_EQ(Create(random)->parameters(), random.parameters());
  }
}

// Sizes that products need not pad, and no computed positions.
TEST(TransformerTest, CountsTheBytesOfEveryTensor) {
  for (const int decoder_layers : {0, 2}) {
    const Shape shape = {.d_model = 64,
                         .feed_forward = 128,
                         .decoder_layers = decoder_layers,
                         .vocabulary = 128,
                         .positions = PositionEncoding::kLearned,
                         .embedding_norm = true,
                         .final_norm = true,
                         .tied = false};
    const RandomTransformer random(shape, 1);
    int64_t numbers = random.parameters();
    // The encoder's token table is also the output projection.
    if (decoder_layers > 0)
      numbers += int64_t{shape.vocabulary} * shape.d_model;
    EXPECT_EQ(Create(random)->weight_bytes(), 4 * numbers);
  }
}

// Two layers that differ in a single tensor, whichever it is, are not shared.
TEST(TransformerTest, OnlyEqualLayersAreShared) {
  const RandomTransformer random({.encoder_layers = 2, .decoder_layers = 0}, 1);
  TransformerDescription description = random.description();
  std::vector<LayerDescription>& layers = description.encoder->layer;
  const LayerDescription other = layers[1];
  layers[1] = layers[0];
  const auto count = [&] {
    Packing packing;
    return Stack::Create(
               *description.encoder,
               std::make_shared<TokenTable>(
                   *description.encoder->embeddings.tokens, WeightType::kF32),
               kF32Formats, &packing)
        ->layers.packed()
        .size();
  };
  EXPECT_EQ(count(), 1u);
  layers[1].self_attention.query.bias = other.self_attention.query.bias;
  EXPECT_EQ(count(), 2u);
  layers[1] = layers[0];
  layers[1].feed_forward_norms.after->weight =
      other.feed_forward_norms.after->weight;
  EXPECT_EQ(count(), 2u);
}

// Visits the parts of a layer as a sum over a model does.
TEST(TransformerTest, EveryProductOfALayerIsVisited) {
  const RandomTransformer random({}, 1);
  const StackDescription& decoder = *random.description().decoder;
  Packing packing;
  const auto layer =
      Layer::Create(decoder.layer[0], decoder, kF32Formats, &packing);
  ASSERT_TRUE(layer.ok()) << layer.status();
  int products = 0;
  layer->ForEachPart([&](const auto& part) {
    if constexpr (requires { part.batch_invariant(); }) ++products;
  });
  EXPECT_EQ(products, 6);  // Q K V, output; cross Q, output; up, down
}

}  // namespace
}  // namespace trivium
