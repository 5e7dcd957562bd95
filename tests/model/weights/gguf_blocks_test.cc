#include "model/weights/gguf_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "base/json.h"
#include "model/weights/digest.h"
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

// few_bits.gguf and few_bits.json are made by make_few_bits.py.
TEST(GgufFewBitsTest, HaveTheBitsOfTheGgufPackage) {
  const auto file = MappedFile::Open(std::string(kFolder) + "few_bits.gguf");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<GgufFile> blocks = ReadGguf((*file)->bytes());
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  const auto expected = ReadJsonFile(std::string(kFolder) + "few_bits.json");
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(expected->size(), 14u);
  ASSERT_EQ(blocks->tensors.size(), expected->size());
  for (const auto& [name, tensor] : blocks->tensors) {
    EXPECT_EQ(DTypeName(tensor.dtype), name);
    EXPECT_EQ(FirstNotFinite(tensor), std::nullopt) << name;
    const std::vector<float> values = Values(tensor);
    Digest digest;
    digest.Add(std::as_bytes(std::span(values)));
    EXPECT_EQ(digest.Hex(), expected->at(name)) << name;
    std::vector<float> part(77);
    CopyToF32(tensor, 1000, part);
    EXPECT_EQ(Bits(part), Bits(std::span(values).subspan(1000, 77))) << name;
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

TEST(GgufScalesTest, ABlockIsFiniteIfItsScalesAre) {
  std::mt19937 random(9);
  int formats = 0;
  for (uint32_t number = 0; number < 64; ++number) {
    const std::optional<DType> dtype = FindGgmlType(number);
    const BlockFormat* const format = dtype ? FindBlockFormat(*dtype) : nullptr;
    if (format == nullptr || format->halves[0] < 0) continue;
    ++formats;
    std::vector<std::byte> bytes(static_cast<size_t>(3) * format->bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const auto set = [&](int block, int half, uint16_t value) {
      if (half < 0) return;
      std::memcpy(bytes.data() + block * format->bytes + half, &value, 2);
    };
    const TensorView tensor = {*dtype, {1, 3 * format->elements}, bytes};
    for (int block = 0; block < 3; ++block) {
      for (const int half : format->halves) set(block, half, 0xfbff);
    }
    for (const float value : Values(tensor)) {
      EXPECT_TRUE(std::isfinite(value)) << format->name;
    }
    EXPECT_EQ(FirstNotFinite(tensor), std::nullopt) << format->name;
    for (const int half : format->halves) {
      if (half < 0) continue;
      for (const uint16_t value : {0x7c00, 0xfc00, 0x7e01}) {
        set(1, half, value);
        std::vector<float> values = Values(tensor);
        for (int i = 0; i < 3 * format->elements; ++i) {
          EXPECT_EQ(!std::isfinite(values[i]), i / format->elements == 1)
              << format->name << " " << i;
        }
        EXPECT_EQ(FirstNotFinite(tensor), format->elements) << format->name;
      }
      set(1, half, 0xfbff);
    }
  }
  EXPECT_EQ(formats, 20);
}

TEST_F(GgufBlocksTest, TypesHaveTheirNames) {
  for (const DType dtype :
       {DType::kQ4_0,   DType::kQ4_1,  DType::kQ5_0,  DType::kQ5_1,
        DType::kQ8_0,   DType::kQ4K,   DType::kQ5K,   DType::kQ6K,
        DType::kQ2K,    DType::kQ3K,   DType::kIq1S,  DType::kIq1M,
        DType::kIq2Xxs, DType::kIq2Xs, DType::kIq2S,  DType::kIq3Xxs,
        DType::kIq3S,   DType::kIq4Nl, DType::kIq4Xs, DType::kTq1,
        DType::kTq2,    DType::kMxfp4, DType::kNvfp4}) {
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
