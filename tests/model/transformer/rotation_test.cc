#include "model/transformer/rotation.h"

#include "gtest/gtest.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

using NormPlacement = RandomTransformer::NormPlacement;
using Shape = RandomTransformer::Shape;

TEST(RotatesTest, WhereLayersPassOnSums) {
  const auto rotates = [](const Shape& shape) {
    return Rotates(RandomTransformer(shape, 1).description(), kInt8Formats);
  };
  const Shape before = {.norm_placement = NormPlacement::kBefore};
  EXPECT_TRUE(rotates(before));
  EXPECT_FALSE(rotates({.norm_placement = NormPlacement::kAfter}));
  EXPECT_TRUE(rotates({.encoder_layers = 0}));
  EXPECT_FALSE(
      rotates({.decoder_layers = 0, .norm_placement = NormPlacement::kBefore}));
  EXPECT_FALSE(
      Rotates(RandomTransformer(before, 1).description(), kBf16Formats));
}

}  // namespace
}  // namespace trivium
