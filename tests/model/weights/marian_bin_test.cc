#include "model/weights/marian_bin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/model/weights/marian_bins.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

absl::Status BinError(const std::string& file) {
  return ReadMarianBin(Bytes(file)).status();
}
absl::Status ItemError(const BinItem& item) {
  return BinError(MarianBin({item}));
}

std::vector<float> ValuesOf(const TensorView& tensor) {
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

BinItem Matrix() {
  return {"W", kBinIntgemm8, {2, 3}, Intgemm8({1, 4, 2, 5, 3, -127}, 4)};
}

TEST(MarianBinTest, ReadsItems) {
  const std::string file =
      MarianBin({{"b", kBinFloat32, {1, 3}, Floats({1, 2, 3})},
                 {"half", 0x402, {1}, "\x01\x3c"},
                 {"special:model.yml", kBinInt8, {5}, "a: b\n"}});
  const auto read = ReadMarianBin(Bytes(file));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->tensors.size(), 3);
  const TensorView& b = read->tensors.at("b");
  EXPECT_THAT(b.shape, ElementsAre(1, 3));
  EXPECT_THAT(ValuesOf(b), ElementsAre(1, 2, 3));
  EXPECT_EQ(read->tensors.at("half").dtype, DType::kF16);
  const TensorView& text = read->tensors.at("special:model.yml");
  EXPECT_EQ(text.row_scales, nullptr);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.data.data()),
                        text.data.size()),
            "a: b\n");
}

// A [2, 3] matrix is stored as three rows of two.
TEST(MarianBinTest, TransposesQuantizedMatricesExceptEmbeddings) {
  for (const uint64_t type : {kBinIntgemm8, kForkIntgemm8}) {
    BinItem matrix = Matrix(), embeddings = Matrix();
    embeddings.name = "encoder_Wemb";
    matrix.type = embeddings.type = type;
    const std::string file =
        MarianBin({matrix,
                   embeddings,
                   {"Wemb_QuantMultA", type, {1}, Intgemm8({127}, 127)}});
    const auto read = ReadMarianBin(Bytes(file));
    ASSERT_TRUE(read.ok()) << read.status();
    const TensorView& turned = read->tensors.at("W");
    EXPECT_EQ(turned.dtype, DType::kI8);
    EXPECT_THAT(turned.shape, ElementsAre(3, 2));
    EXPECT_THAT(turned.row_scales->shape, ElementsAre(3, 1));
    EXPECT_THAT(ValuesOf(turned),
                ElementsAre(0.25, 1, 0.5, 1.25, 0.75, -31.75));
    const TensorView& rows = read->tensors.at("encoder_Wemb");
    EXPECT_THAT(rows.shape, ElementsAre(2, 3));
    EXPECT_THAT(rows.row_scales->shape, ElementsAre(2, 1));
    EXPECT_THAT(ValuesOf(rows), ElementsAre(0.25, 1, 0.5, 1.25, 0.75, -31.75));
    EXPECT_THAT(ValuesOf(read->tensors.at("Wemb_QuantMultA")), ElementsAre(1));
  }
}

TEST(MarianBinTest, RefusesWeightsPackedForOneCpuByName) {
  const std::pair<uint64_t, const char*> others[] = {
      {0x18001, "intgemm8ssse3"},
      {0x11001, "intgemm8avx2"},
      {0x12001, "intgemm8avx512"},
      {0x10002, "intgemm16"},
      {0x802, "packed16"},
      {0x1801, "packed8avx2"},
      {0x777, "0x777"}};
  for (const auto& [type, name] : others) {
    BinItem item = Matrix();
    item.type = type;
    EXPECT_THAT(ItemError(item), IsError(StatusCode::kInvalidArgument, name));
  }
}

TEST(MarianBinTest, RefusesItemsWithWrongSizes) {
  BinItem item = Matrix();
  item.shape = {20, 30};
  EXPECT_THAT(ItemError(item),
              IsError(StatusCode::kInvalidArgument, "[20, 30]"));
  item.shape = {-2, -3};
  EXPECT_THAT(ItemError(item),
              IsError(StatusCode::kInvalidArgument, "[-2, -3]"));
  const int32_t most = std::numeric_limits<int32_t>::max();
  for (const auto& shape : std::vector<std::vector<int32_t>>{
           {most, most, most}, {most, most}, {2, 1, 3}, {}}) {
    item.shape = shape;
    EXPECT_THAT(ItemError(item),
                IsError(StatusCode::kInvalidArgument, "match"));
  }
  item.shape = {16, 16};  // without room for the multiplier
  item.data = std::string(256, '\1');
  EXPECT_THAT(ItemError(item),
              IsError(StatusCode::kInvalidArgument, "multiplier"));
  // Each row needs a scale.
  item.shape = {0, most};
  EXPECT_THAT(ItemError(item), IsError(StatusCode::kInvalidArgument, "memory"));
  item.shape = {1, 64};
  item.data = std::string(64, '\1') + Floats({2});
  EXPECT_EQ(ItemError(item), absl::OkStatus());
  for (const float multiplier : {0.0f, -1.0f, NAN, INFINITY, 1e-45f}) {
    item.data = std::string(64, '\1') + Floats({multiplier});
    EXPECT_THAT(ItemError(item),
                IsError(StatusCode::kInvalidArgument, "multiplier"));
  }
  item.shape.assign(9, 1);
  EXPECT_THAT(ItemError(item), IsError(StatusCode::kInvalidArgument, "9"));
  EXPECT_THAT(BinError(MarianBin({Matrix(), Matrix()})),
              IsError(StatusCode::kInvalidArgument, "twice"));
}

TEST(MarianBinTest, RefusesTruncatedFiles) {
  const std::string file = MarianBin({Matrix()});
  for (size_t size = 8; size < file.size(); ++size) {
    EXPECT_THAT(BinError(file.substr(0, size)),
                IsError(StatusCode::kInvalidArgument, "ends"));
  }
  EXPECT_THAT(BinError(""), IsError(StatusCode::kInvalidArgument, "begin"));
  EXPECT_THAT(BinError(LittleEndian(2, 8)),
              IsError(StatusCode::kInvalidArgument, "version"));
  const auto replaced = [&](size_t at, uint64_t number) {
    std::string bytes = file;
    return bytes.replace(at, 8, LittleEndian(number, 8));
  };
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(BinError(replaced(8, kMost)),
              IsError(StatusCode::kInvalidArgument, "184467440737095"));
  EXPECT_THAT(BinError(replaced(8, 1000)),
              IsError(StatusCode::kInvalidArgument, "headers"));
  EXPECT_THAT(BinError(replaced(16, kMost)),
              IsError(StatusCode::kInvalidArgument, "names"));
  EXPECT_THAT(BinError(replaced(16, 0)),
              IsError(StatusCode::kInvalidArgument, "name"));
  EXPECT_THAT(BinError(replaced(16, 1)),
              IsError(StatusCode::kInvalidArgument, "name"));
  EXPECT_THAT(BinError(replaced(32, kMost)),
              IsError(StatusCode::kInvalidArgument, "dimensions"));
  EXPECT_THAT(BinError(replaced(40, kMost)),
              IsError(StatusCode::kInvalidArgument, "'W'"));
  EXPECT_THAT(BinError(replaced(58, kMost)),
              IsError(StatusCode::kInvalidArgument, "padding"));
}

}  // namespace
}  // namespace trivium
