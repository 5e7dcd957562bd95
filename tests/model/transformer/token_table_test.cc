#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/transformer/embeddings.h"
#include "model/transformer/heads.h"

namespace trivium {
namespace {

// A table of random blocks {d, 16 bytes} with scales of 0.06 to 0.12.
struct BlockTable {
  BlockTable(int tokens, int width)
      : blocks(static_cast<size_t>(tokens) * width / 32 * 18) {
    std::mt19937 random(2);
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
    for (size_t at = 1; at < blocks.size(); at += 18) {
      blocks[at] = std::byte{0x2c};
    }
    tensor = {DType::kQ4_0, {tokens, width}, blocks};
  }

  std::vector<std::byte> blocks;
  TensorView tensor;
};

TEST(TokenTableTest, RowsOfBlocksAreThoseOfTheFile) {
  constexpr int kTokens = kOutputBlock + 70, kWidth = 64;
  const BlockTable table(kTokens, kWidth);
  const TokenTable copy(table.tensor, WeightType::kGroups);
  EXPECT_GE(copy.bytes(), static_cast<int64_t>(table.blocks.size()));
  std::vector<Linear> output;
  const TokenTable shared(output, kWidth);
  EXPECT_EQ(shared.bytes(), 0);
  const LinearTensors weight = {&table.tensor, nullptr};
  for (int begin = 0; begin < kTokens; begin += kOutputBlock) {
    auto block = Linear::Create(kInt4Formats, std::span(&weight, 1), begin,
                                std::min(kOutputBlock, kTokens - begin));
    ASSERT_TRUE(block.ok()) << block.status();
    output.push_back(*std::move(block));
  }
  for (const int token : {0, 1, 63, 64, kOutputBlock, kTokens - 1}) {
    std::vector<float> expected(kWidth), x(kWidth);
    CopyToF32(table.tensor, int64_t{token} * kWidth, expected);
    for (float& value : expected) value *= 3;
    copy.Lookup(token, 3, x.data());
    EXPECT_EQ(x, expected) << token;
    shared.Lookup(token, 3, x.data());
    EXPECT_EQ(x, expected) << token;
  }
}

}  // namespace
}  // namespace trivium
