// Layers that are refused because a part of theirs would be left out.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/transformer/transformer.h"
#include "tests/support/error_texts.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

// Creates a random decoder of the first shape that `is_one` accepts, with a
// gate of the last layer's attention. Returns the status.
template <typename Predicate>
absl::Status StatusWithGate(const Predicate& is_one) {
  const auto shapes = RandomTransformer::ModernDecoders();
  const auto shape = std::find_if(shapes.begin(), shapes.end(), is_one);
  EXPECT_NE(shape, shapes.end());
  const RandomTransformer random(*shape, 1);
  EXPECT_TRUE(Transformer::Create(random.description(), kF32Formats).ok());
  TransformerDescription description = random.description();
  AttentionDescription& attention =
      description.decoder->layer.back().self_attention;
  attention.gate = attention.query;
  return Transformer::Create(description, kF32Formats).status();
}

TEST(RefusedLayersTest, GatesOfLayersThatReadOtherLayersKeys) {
  EXPECT_THAT(StatusWithGate([](const RandomTransformer::Shape& shape) {
                return shape.gemma4 && shape.decoder_layers >= 4;
              }),
              IsError(absl::StatusCode::kInvalidArgument, "gate"));
}

TEST(RefusedLayersTest, GatesOfLatentAttention) {
  EXPECT_THAT(StatusWithGate([](const RandomTransformer::Shape& shape) {
                return shape.latent_rank > 0;
              }),
              IsError(absl::StatusCode::kInvalidArgument, "gates"));
}

// What only encoders run, in a decoder.
TEST(RefusedLayersTest, PartsOfEncodersInDecoders) {
  const RandomTransformer random({.encoder_layers = 0}, 1);
  const auto status = [&](const auto& change) {
    TransformerDescription description = random.description();
    for (LayerDescription& layer : description.decoder->layer) change(&layer);
    return Transformer::Create(description, kF32Formats).status();
  };
  EXPECT_THAT(status([](LayerDescription* layer) {
                layer->self_attention.near.emplace().width = 3;
              }),
              IsError(absl::StatusCode::kInvalidArgument, "near tokens"));
  EXPECT_THAT(status([](LayerDescription* layer) {
                layer->self_attention.blocks.emplace().size = 3;
              }),
              IsError(absl::StatusCode::kInvalidArgument, "keys of blocks"));
  EXPECT_THAT(
      status([](LayerDescription* layer) {
        AttentionDescription& attention = layer->self_attention;
        attention.global = {attention.query, attention.key, attention.value};
      }),
      IsError(absl::StatusCode::kInvalidArgument, "global tokens"));
  EXPECT_THAT(status([](LayerDescription* layer) {
                layer->bottleneck.emplace().width = 16;
              }),
              IsError(absl::StatusCode::kInvalidArgument, "narrower stream"));
}

TEST(RefusedLayersTest, GlobalTokensOfSomeLayers) {
  const RandomTransformer random(
      {.decoder_layers = 0, .global_tokens = GlobalTokens{}}, 1);
  TransformerDescription description = random.description();
  description.encoder->layer.back().self_attention.global.reset();
  EXPECT_THAT(Transformer::Create(description, kF32Formats).status(),
              IsError(absl::StatusCode::kInvalidArgument, "global tokens"));
}

TEST(RefusedLayersTest, TrigramsInDecoders) {
  const RandomTransformer random({.encoder_layers = 0}, 1);
  TransformerDescription description = random.description();
  description.decoder->embeddings.trigrams = true;
  EXPECT_THAT(Transformer::Create(description, kF32Formats).status(),
              IsError(absl::StatusCode::kInvalidArgument, "neighbours"));
}

}  // namespace
}  // namespace trivium
