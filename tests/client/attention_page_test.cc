// Tests which attention maps fit into a page, and how it stores their weights.
#include "client/commands/attention_page.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "client/commands/attention_maps.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/page_data.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

DrawnMaps Maps(AttentionKind kind, uint32_t layers, uint32_t heads,
               uint32_t tokens) {
  DrawnMaps maps;
  maps.kind = kind;
  for (uint32_t i = 0; i < layers; ++i) maps.layers.push_back(i);
  for (uint32_t i = 0; i < heads; ++i) maps.heads.push_back(i);
  for (uint32_t i = 0; i < tokens; ++i) maps.rows.push_back(i);
  maps.queries.assign(tokens, "q");
  maps.keys.assign(tokens, "k");
  return maps;
}

TEST(ShrinkToFitTest, DropsLayersThenHeadsOfTheLargest) {
  std::vector<DrawnMaps> maps = {Maps(AttentionKind::kEncoder, 3, 2, 10),
                                 Maps(AttentionKind::kCross, 1, 2, 5)};
  EXPECT_TRUE(ShrinkToFit(650, &maps));
  EXPECT_EQ(maps[0].layers.size(), 3u);
  EXPECT_TRUE(ShrinkToFit(649, &maps));
  EXPECT_THAT(maps[0].layers, ElementsAre(1, 2));
  EXPECT_TRUE(ShrinkToFit(200, &maps));
  EXPECT_THAT(maps[0].layers, ElementsAre(2));
  EXPECT_THAT(maps[0].heads, ElementsAre(0));
  EXPECT_EQ(maps[1].heads.size(), 2u);
  EXPECT_FALSE(ShrinkToFit(100, &maps));
}

TEST(ShrinkToFitTest, DropsWindowsWithTheirLayers) {
  std::vector<DrawnMaps> maps = {Maps(AttentionKind::kDecoder, 3, 1, 2)};
  maps[0].windows = {4, 0, 5};
  maps[0].weights.resize(12);
  EXPECT_THAT(Slice(maps[0], {0, 2}, {0}).windows, ElementsAre(4, 5));
  EXPECT_TRUE(ShrinkToFit(8, &maps));
  EXPECT_THAT(maps[0].windows, ElementsAre(0, 5));
}

TEST(AttentionMapsTest, ARowSeesEarlierKeysWithinItsWindow) {
  DrawnMaps maps = Maps(AttentionKind::kDecoder, 2, 1, 5);
  const auto seen = [&maps](size_t layer, size_t row) {
    const DrawnMaps::Range range = maps.Seen(layer, row);
    return std::vector<size_t>{range.begin, range.end};
  };
  EXPECT_THAT(seen(0, 1), ElementsAre(0, 5));
  maps.seen_first = 1;
  EXPECT_THAT(seen(0, 1), ElementsAre(0, 2));
  maps.windows = {0, 3};
  EXPECT_THAT(seen(0, 4), ElementsAre(0, 5));
  EXPECT_THAT(seen(1, 1), ElementsAre(0, 2));
  EXPECT_THAT(seen(1, 4), ElementsAre(2, 5));
}

TEST(AttentionPageTest, StaysUnderFiveMegabytesWhenFull) {
  DrawnMaps maps = Maps(AttentionKind::kEncoder, 1, 13, 512);
  maps.weights.resize(maps.size());
  for (size_t i = 0; i < maps.weights.size(); ++i) {
    maps.weights[i] = static_cast<float>(i % 1000) / 1000;
  }
  ASSERT_LE(maps.size(), kMaxPageWeights);
  const std::string page = AttentionPage({"m", {}}, {maps});
  EXPECT_LT(page.size(), 5'000'000u);
  const json data = PageData(page);
  EXPECT_EQ(data["bits"], 8);
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(
      data["maps"][0]["weights"].get<std::string>(), &bytes));
  ASSERT_EQ(bytes.size(), maps.size());
  for (size_t i = 0; i < 1000; ++i) {
    const double root = static_cast<uint8_t>(bytes[i]) / 255.0;
    EXPECT_NEAR(root, std::sqrt(maps.weights[i]), 0.5 / 255 + 1e-6);
  }
}

TEST(AttentionPageTest, AcceptsWeightsThatAreNoProbabilities) {
  DrawnMaps maps = Maps(AttentionKind::kEncoder, 1, 1, 2);
  maps.weights = {NAN, -1, 7, INFINITY};
  const json data = PageData(AttentionPage({"m", {}}, {maps}));
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(
      data["maps"][0]["weights"].get<std::string>(), &bytes));
  EXPECT_EQ(bytes, std::string("\0\0\0\0\xFF\xFF\xFF\xFF", 8));
}

}  // namespace
}  // namespace trivium
