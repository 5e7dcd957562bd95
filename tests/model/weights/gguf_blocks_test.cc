#include "model/weights/gguf_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/weights/gguf_file.h"
#include "model/weights/mapped_file.h"
#include "model/weights/safetensors.h"

namespace trivium {
namespace {

constexpr char kFolder[] = "tests/model/weights/gguf/";

std::vector<uint32_t> Bits(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) {
    bits.push_back(std::bit_cast<uint32_t>(value));
  }
  return bits;
}

std::vector<float> Values(const TensorView& tensor) {
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

// Reads the files made by make_blocks.py.
class GgufBlocksTest : public testing::Test {
 protected:
  GgufBlocksTest()
      : blocks_file_(MappedFile::Open(std::string(kFolder) + "blocks.gguf")),
        expected_file_(
            MappedFile::Open(std::string(kFolder) + "blocks.safetensors")),
        blocks_(ReadGguf((*blocks_file_)->bytes())),
        expected_(ReadSafetensors((*expected_file_)->bytes())) {}

  const absl::StatusOr<std::unique_ptr<MappedFile>> blocks_file_;
  const absl::StatusOr<std::unique_ptr<MappedFile>> expected_file_;
  const absl::StatusOr<GgufFile> blocks_;
  const absl::StatusOr<TensorFile> expected_;
};

TEST_F(GgufBlocksTest, HaveTheBitsOfTheGgufPackage) {
  ASSERT_TRUE(blocks_.ok()) << blocks_.status();
  ASSERT_TRUE(expected_.ok()) << expected_.status();
  // These are F32, F16, BF16 and nine block formats.
  ASSERT_EQ(blocks_->tensors.size(), 12u);
  for (const auto& [name, tensor] : blocks_->tensors) {
    const TensorView& expected = expected_->tensors.at(name);
    EXPECT_EQ(tensor.shape, expected.shape) << name;
    EXPECT_EQ(Bits(Values(tensor)), Bits(Values(expected))) << name;
    EXPECT_EQ(FirstNotFinite(tensor), std::nullopt) << name;
  }
}

TEST_F(GgufBlocksTest, AreReadInPartsOfAnySize) {
  for (const auto& [name, tensor] : blocks_->tensors) {
    const std::vector<float> all = Values(tensor);
    for (const int64_t begin : {0, 1, 31, 32, 255, 256, 700}) {
      for (const size_t size : {0, 1, 31, 32, 33, 255, 256, 257, 600}) {
        std::vector<float> part(size);
        CopyToF32(tensor, begin, part);
        EXPECT_EQ(Bits(part), Bits(std::span(all).subspan(begin, size)))
            << name << " " << begin << " " << size;
      }
    }
  }
}

TEST_F(GgufBlocksTest, FindsInfiniteAndNaNElements) {
  const TensorView& blocks = blocks_->tensors.at("MXFP4");
  std::vector<std::byte> bytes(blocks.data.begin(), blocks.data.end());
  // Sets block 5's scale to 2^127 and its element 4 to twice 6: infinite.
  bytes[5 * 17] = std::byte{255};
  std::fill_n(bytes.begin() + 5 * 17 + 1, 16, std::byte{0});
  bytes[5 * 17 + 1 + 4] = std::byte{7};
  EXPECT_EQ(FirstNotFinite({blocks.dtype, blocks.shape, bytes}), 5 * 32 + 4);
  EXPECT_TRUE(std::isinf(Values({blocks.dtype, blocks.shape, bytes})[164]));
}

TEST_F(GgufBlocksTest, TypesHaveTheirNames) {
  for (const DType dtype :
       {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
        DType::kQ4K, DType::kQ5K, DType::kQ6K, DType::kMxfp4}) {
    const BlockFormat* const format = FindBlockFormat(dtype);
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(GgmlTypeName(format->ggml_type), format->name);
    EXPECT_EQ(FindGgmlType(format->ggml_type), dtype);
  }
  EXPECT_EQ(GgmlTypeName(4), "");
  EXPECT_EQ(GgmlTypeName(1000), "");
}

}  // namespace
}  // namespace trivium
