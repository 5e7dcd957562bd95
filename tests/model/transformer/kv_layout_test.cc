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

// Of layers of one size, so that a block's bytes are its layers.
KvLayout LayoutOf(const std::vector<int>& look_back) {
  std::vector<KvLayout::Layer> layers;
  for (const int back : look_back) layers.push_back({back, /*tile_bytes=*/1});
  return KvLayout(layers);
}

TEST(KvLayoutTest, LayersThatSeeEquallyFarAreOneGroup) {
  const KvLayout layout = LayoutOf(std::vector<int>(7, kAllKeys));
  EXPECT_EQ(layout.groups(), 1);
  EXPECT_EQ(layout.block_bytes(), 7u);
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
    const KvLayout layout = LayoutOf(look_back);
    const int group_layers = static_cast<int>(layout.block_bytes());
    EXPECT_EQ(layout.groups(), groups);
    EXPECT_EQ(layout.groups() * group_layers, layers);
    std::set<std::pair<int, int>> places;
    for (int layer = 0; layer < layers; ++layer) {
      ASSERT_LT(layout.group(layer), layout.groups());
      ASSERT_LT(layout.place(layer), group_layers);
      places.insert({layout.group(layer), layout.place(layer)});
      EXPECT_EQ(layout.FirstSeen(layout.group(layer), 1000),
                look_back[layer] == kAllKeys ? 0 : (1000 - 511) / 16);
    }
    EXPECT_EQ(static_cast<int>(places.size()), layers);
  }
}

// Gemma 4 E2B: 12 layers with windows, 3 that see all, of twice the size, and
// 20 that read the keys and values of the last two of them.
TEST(KvLayoutTest, LayersOfOtherSizesFillTheSameBlocks) {
  std::vector<KvLayout::Layer> layers;
  for (int i = 0; i < 35; ++i) {
    const bool full = i % 5 == 4;
    layers.push_back({full ? kAllKeys : 511, full ? 200u : 100u,
                      i < 15 ? -1 : (full ? 14 : 13)});
  }
  const KvLayout layout(layers);
  EXPECT_EQ(layout.block_bytes(), 600u);
  EXPECT_EQ(layout.groups(), 3);
  std::set<std::pair<int, int>> places;
  for (int i = 0; i < 35; ++i) {
    places.insert({layout.group(i), layout.place(i)});
    EXPECT_LE((layout.place(i) + 1) * layers[i].tile_bytes, 600u);
    if (i < 15) continue;
    EXPECT_EQ(layout.group(i), layout.group(layers[i].reads));
    EXPECT_EQ(layout.place(i), layout.place(layers[i].reads));
  }
  EXPECT_EQ(places.size(), 15u);
}

// A layer that reads keys and values names its index among all layers.
TEST(KvLayoutTest, LayersWithoutKeysAreInNoGroup) {
  const KvLayout::Layer none = {KvLayout::kNoKeys, /*tile_bytes=*/0};
  const KvLayout layout(std::vector<KvLayout::Layer>{
      none, {kAllKeys, 200}, none, {kAllKeys, 200}, {kAllKeys, 200, 3}});
  EXPECT_EQ(layout.groups(), 1);
  EXPECT_EQ(layout.block_bytes(), 400u);
  EXPECT_EQ(layout.place(1), 0);
  EXPECT_EQ(layout.place(3), 1);
  EXPECT_EQ(layout.place(4), 1);
  const KvLayout empty(std::vector<KvLayout::Layer>{none, none});
  EXPECT_EQ(empty.groups(), 0);
  EXPECT_EQ(empty.block_bytes(), 0u);
}

TEST(KvLayoutTest, ALongSequenceNeedsNoMoreBlocksInWindows) {
  const KvLayout layout = LayoutOf(Gemma(18));
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
