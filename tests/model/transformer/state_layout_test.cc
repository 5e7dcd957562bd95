#include "model/transformer/state_layout.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(StateLayoutTest, PiecesAreWholeAndApart) {
  const std::vector<StateShape> layers = {
      {.channels = 1100, .kept = 3, .heads = 2, .rows = 10, .columns = 70},
      {},
      {.channels = 24, .kept = 2}};
  const size_t largest = StateLayout::LargestPiece(layers);
  EXPECT_EQ(largest, 3 * 512 * sizeof(float));
  for (const size_t block_bytes : {largest, largest + 64, 10 * largest}) {
    const StateLayout layout(layers, block_bytes);
    std::set<std::pair<int, size_t>> begins;
    const auto check = [&](const StateLayout::Place& place, size_t bytes) {
      EXPECT_LT(place.block, layout.blocks());
      EXPECT_LE(place.offset + bytes, block_bytes);
      EXPECT_EQ(place.offset % 64, 0u);
      // Places come in order, so each begins where others have ended.
      EXPECT_TRUE(begins.insert({place.block, place.offset}).second);
      if (begins.size() > 1) {
        EXPECT_EQ(*begins.rbegin(), std::pair(place.block, place.offset));
      }
    };
    for (const int layer : {0, 2}) {
      const StateShape& shape = layers[layer];
      for (int chunk = 0; chunk < shape.chunks(); ++chunk) {
        check(layout.Chunk(layer, chunk),
              sizeof(float) * shape.kept *
                  std::min(512, shape.channels - 512 * chunk));
      }
      for (int head = 0; head < shape.heads; ++head) {
        for (int panel = 0; panel < shape.panels(); ++panel) {
          check(layout.Panel(layer, head, panel),
                sizeof(float) * shape.rows * kStateColumns);
        }
      }
    }
  }
}

// Folders that are only checked may name sizes far beyond any memory.
TEST(StateLayoutTest, ManyHeadsTakeNoTimeOrMemory) {
  const std::vector<StateShape> layers(
      1000, {.heads = 1 << 20, .rows = 1, .columns = 1});
  const size_t panel = StateLayout::LargestPiece(layers);
  const StateLayout layout(layers, panel);
  EXPECT_EQ(layout.blocks(), 1000 << 20);
  EXPECT_EQ(layout.Panel(999, (1 << 20) - 1, 0).block, layout.blocks() - 1);
}

TEST(StateLayoutTest, ModelsWithoutStatesTakeNoBlocks) {
  const std::vector<StateShape> layers(3);
  EXPECT_EQ(StateLayout::LargestPiece(layers), 0u);
  EXPECT_EQ(StateLayout(layers, 64).blocks(), 0);
}

}  // namespace
}  // namespace trivium
