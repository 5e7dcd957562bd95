#include "model/transformer/kv_layout.h"

#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/attention.h"

namespace trivium {
namespace {

// Gemma 3: every sixth layer sees all keys.
std::vector<int> Gemma(int layers) {
  std::vector<int> look_back(layers, 511);
  for (int i = 5; i < layers; i += 6) look_back[i] = kAllKeys;
  return look_back;
}

TEST(KvLayoutTest, LayersThatSeeEquallyFarAreOneGroup) {
  const KvLayout layout(std::vector<int>(7, kAllKeys));
  EXPECT_EQ(layout.groups(), 1);
  EXPECT_EQ(layout.group_layers(), 7);
  for (int layer = 0; layer < 7; ++layer) {
    EXPECT_EQ(layout.group(layer), 0);
    EXPECT_EQ(layout.place(layer), layer);
  }
  EXPECT_EQ(layout.FirstSeen(0, 1 << 20), 0);
}

TEST(KvLayoutTest, GroupsHaveOneSizeAndOneWindowEach) {
  for (const auto& [layers, groups] :
       {std::pair(18, 6), {26, 13}, {34, 34}, {48, 6}, {62, 31}, {5, 1}}) {
    SCOPED_TRACE(layers);
    const std::vector<int> look_back = Gemma(layers);
    const KvLayout layout(look_back);
    EXPECT_EQ(layout.groups(), groups);
    EXPECT_EQ(layout.groups() * layout.group_layers(), layers);
    std::set<std::pair<int, int>> places;
    for (int layer = 0; layer < layers; ++layer) {
      ASSERT_LT(layout.group(layer), layout.groups());
      ASSERT_LT(layout.place(layer), layout.group_layers());
      places.insert({layout.group(layer), layout.place(layer)});
      EXPECT_EQ(layout.FirstSeen(layout.group(layer), 1000),
                look_back[layer] == kAllKeys ? 0 : (1000 - 511) / 16);
    }
    EXPECT_EQ(static_cast<int>(places.size()), layers);
  }
}

TEST(KvLayoutTest, ALongSequenceNeedsNoMoreBlocksInWindows) {
  const KvLayout layout(Gemma(18));
  const EngineLimits limits = {.max_target_tokens = 1 << 15,
                               .block_tokens = 16,
                               .windows = layout.windows()};
  EXPECT_EQ(limits.SourceBlocks(100), 6 * 7);
  EXPECT_EQ(limits.HypothesisBlocks(100), 6 * 7);
  const int window = (511 + 2 * kMostStepTokens - 2) / 16 + 2;
  EXPECT_EQ(limits.HypothesisBlocks(1 << 15), 5 * window + (1 << 11));
  for (const int tokens : {1, 16, 17, 100, 1000, 1024, 20000, 1 << 15}) {
    const int64_t blocks = limits.HypothesisBlocks(tokens);
    EXPECT_EQ(limits.TokensIn(blocks), (tokens + 15) / 16 * 16);
    EXPECT_LT(limits.TokensIn(blocks - 1), tokens);
  }
  EXPECT_EQ(limits.TokensIn(int64_t{1} << 40), 1 << 15);
}

}  // namespace
}  // namespace trivium
