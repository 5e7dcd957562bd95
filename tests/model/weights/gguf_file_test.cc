#include "model/weights/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/weights/gguf_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

absl::Status GgufError(const std::string& file) {
  return ReadGguf(Bytes(file)).status();
}
absl::Status GgufError(const GgufWriter& writer) {
  return GgufError(writer.Bytes());
}

GgufWriter Small() {
  GgufWriter writer;
  writer.Value("general.architecture", "llama")
      .Value("llama.block_count", 2)
      .Real("llama.rope.freq_base", 0.5f)
      .Value("flag", GgufWriter::kBool, "\x01")
      .Texts("tokens", {"a", "", "\xC3\xA4"})
      .Numbers("types", {3, 1})
      .Tensor("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .Tensor("y", {1}, {7});
  return writer;
}

TEST(GgufFileTest, ReadsValuesAndTensors) {
  for (const uint32_t version : {2, 3}) {
    GgufWriter writer = Small();
    writer.version = version;
    const std::string file = writer.Bytes();
    const absl::StatusOr<GgufFile> read = ReadGguf(Bytes(file));
    ASSERT_TRUE(read.ok()) << read.status();
    const nlohmann::json expected = {
        {"general.architecture", "llama"}, {"llama.block_count", 2},
        {"llama.rope.freq_base", 0.5},     {"flag", true},
        {"tokens", {"a", "", "\xC3\xA4"}}, {"types", {3, 1}}};
    EXPECT_EQ(read->metadata, expected);
    ASSERT_EQ(read->tensors.size(), 2u);
    const TensorView& x = read->tensors.at("x");
    EXPECT_THAT(x.shape, ElementsAre(2, 3));
    std::vector<float> values(6);
    CopyToF32(x, 0, values);
    EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
    const TensorView& y = read->tensors.at("y");
    EXPECT_EQ(static_cast<const void*>(y.data.data()),
              file.data() + file.size() - sizeof(float));
  }
}

TEST(GgufFileTest, RefusesEveryTruncation) {
  const std::string file = Small().Bytes();
  ASSERT_EQ(GgufError(file), absl::OkStatus());
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(GgufError(file.substr(0, size)), absl::OkStatus()) << size;
  }
}

TEST(GgufFileTest, NamesUnsupportedVersionsAndTypes) {
  EXPECT_THAT(GgufError("PK\x03\x04 and more"),
              IsError(StatusCode::kInvalidArgument, "GGUF"));
  GgufWriter writer = Small();
  writer.version = 1;
  EXPECT_THAT(GgufError(writer),
              IsError(StatusCode::kUnimplemented, "version"));
  writer.version = 0x03000000;
  EXPECT_THAT(GgufError(writer),
              IsError(StatusCode::kUnimplemented, "big-endian"));
  EXPECT_THAT(GgufError(GgufWriter().Info("x", {1, 256}, 9, 0)),
              IsError(StatusCode::kUnimplemented, "Q8_1"));
  EXPECT_THAT(GgufError(GgufWriter().Info("x", {1, 256}, 999, 0)),
              IsError(StatusCode::kUnimplemented, "999"));
}

TEST(GgufFileTest, RefusesWrongLengths) {
  constexpr uint64_t kMost = ~uint64_t{0};
  GgufWriter writer = Small();
  writer.value_count = kMost;
  EXPECT_NE(GgufError(writer), absl::OkStatus());
  writer = Small();
  writer.tensor_count = kMost;
  EXPECT_NE(GgufError(writer), absl::OkStatus());
  const auto list = [](uint32_t type, uint64_t count) {
    return LittleEndian(type, 4) + LittleEndian(count, 8);
  };
  EXPECT_THAT(GgufError(GgufWriter().Value("v", GgufWriter::kText,
                                           LittleEndian(kMost, 8))),
              IsError(StatusCode::kInvalidArgument, "truncated"));
  EXPECT_THAT(
      GgufError(GgufWriter().Value("v", GgufWriter::kList, list(0, kMost))),
      IsError(StatusCode::kInvalidArgument, "truncated"));
  EXPECT_THAT(GgufError(GgufWriter().Value(std::string(2000, 'n'), 1)),
              IsError(StatusCode::kInvalidArgument, "longer"));
  // JSON values are far larger than the bytes they are made from.
  EXPECT_THAT(
      GgufError(GgufWriter().Value("v", GgufWriter::kList,
                                   list(0, 8 << 20) + std::string(8 << 20, 0))),
      IsError(StatusCode::kInvalidArgument, "memory"));
  // Nested lists of one element each.
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += list(GgufWriter::kList, 1);
  EXPECT_THAT(GgufError(GgufWriter().Value("v", GgufWriter::kList,
                                           nested + list(0, 0))),
              IsError(StatusCode::kInvalidArgument, "deeper"));
}

TEST(GgufFileTest, RefusesBrokenValues) {
  EXPECT_THAT(GgufError(GgufWriter().Value("v", 77, "")),
              IsError(StatusCode::kInvalidArgument, "77"));
  EXPECT_THAT(GgufError(GgufWriter().Value("v", GgufWriter::kBool, "\x02")),
              IsError(StatusCode::kInvalidArgument, "boolean"));
  EXPECT_THAT(GgufError(GgufWriter().Value("v", "\xFF")),
              IsError(StatusCode::kInvalidArgument, "UTF-8"));
  EXPECT_THAT(GgufError(GgufWriter().Value("v", 1).Value("v", 2)),
              IsError(StatusCode::kInvalidArgument, "twice"));
  EXPECT_THAT(GgufError(GgufWriter().Value("general.alignment", 24)),
              IsError(StatusCode::kInvalidArgument, "general.alignment"));
  EXPECT_THAT(GgufError(GgufWriter().Value("general.alignment", 0)),
              IsError(StatusCode::kInvalidArgument, "general.alignment"));
}

TEST(GgufFileTest, RefusesBrokenTensors) {
  const auto error = [](const std::vector<uint64_t>& shape, uint32_t type,
                        uint64_t offset) {
    GgufWriter writer;
    writer.Info("x", shape, type, offset).data = std::string(64, 0);
    return GgufError(writer);
  };
  EXPECT_EQ(error({16}, 0, 0), absl::OkStatus());
  EXPECT_THAT(error({17}, 0, 0),
              IsError(StatusCode::kInvalidArgument, "truncated"));
  EXPECT_THAT(error({1}, 0, 64),
              IsError(StatusCode::kInvalidArgument, "truncated"));
  EXPECT_THAT(error({1}, 0, ~uint64_t{31}),
              IsError(StatusCode::kInvalidArgument, "truncated"));
  EXPECT_THAT(error({1}, 0, 4),
              IsError(StatusCode::kInvalidArgument, "multiple"));
  EXPECT_THAT(error({uint64_t{1} << 63}, 0, 0),
              IsError(StatusCode::kInvalidArgument, "sizes"));
  EXPECT_THAT(error({uint64_t{1} << 32, uint64_t{1} << 32}, 0, 0),
              IsError(StatusCode::kInvalidArgument, "large"));
  EXPECT_THAT(error({uint64_t{1} << 62}, 0, 0),
              IsError(StatusCode::kInvalidArgument, "large"));
  EXPECT_THAT(error({1, 1, 1, 1, 1}, 0, 0),
              IsError(StatusCode::kInvalidArgument, "dimensions"));
  // Tensors in blocks.
  EXPECT_EQ(error({1, 32}, 8, 0), absl::OkStatus());
  EXPECT_THAT(error({32}, 8, 0), IsError(StatusCode::kInvalidArgument, "Q8_0"));
  EXPECT_THAT(error({2, 16}, 8, 0),
              IsError(StatusCode::kInvalidArgument, "Q8_0"));
  EXPECT_THAT(error({1, 33}, 8, 0),
              IsError(StatusCode::kInvalidArgument, "Q8_0"));
  EXPECT_THAT(error({1, 128}, 12, 0),
              IsError(StatusCode::kInvalidArgument, "Q4_K"));
  GgufWriter twice;
  twice.Info("x", {8}, 0, 0).Info("x", {8}, 0, 32).data = std::string(64, 0);
  EXPECT_THAT(GgufError(twice), IsError(StatusCode::kInvalidArgument, "'x'"));
  GgufWriter overlapping;
  overlapping.Info("x", {9}, 0, 0).Info("y", {8}, 0, 32).data =
      std::string(64, 0);
  EXPECT_THAT(GgufError(overlapping),
              IsError(StatusCode::kInvalidArgument, "'y'"));
}

}  // namespace
}  // namespace trivium
