#include "model/transformer/hadamard.h"

#include "gtest/gtest.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

using NormPlacement = RandomTransformer::NormPlacement;
using Shape = RandomTransformer::Shape;

TEST(UsesHadamardTest, IsTrueOnlyForLayersWithoutNormalizedOutputs) {
  const auto uses = [](const Shape& shape) {
    return UsesHadamard(RandomTransformer(shape, 1).description(),
                        kInt8Formats);
  };
  const Shape before = {.norm_placement = NormPlacement::kBefore};
  EXPECT_TRUE(uses(before));
  EXPECT_FALSE(uses({.norm_placement = NormPlacement::kAfter}));
  EXPECT_TRUE(uses({.encoder_layers = 0}));
  EXPECT_FALSE(
      uses({.decoder_layers = 0, .norm_placement = NormPlacement::kBefore}));
  EXPECT_FALSE(
      UsesHadamard(RandomTransformer(before, 1).description(), kBf16Formats));
}

}  // namespace
}  // namespace trivium
