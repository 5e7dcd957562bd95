#include "model/weights/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/weights/gguf_files.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string GgufError(const std::string& file) {
  const absl::StatusOr<GgufFile> read = ReadGguf(Bytes(file));
  return read.ok() ? "no error" : std::string(read.status().message());
}
std::string GgufError(const GgufWriter& writer) {
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
  ASSERT_EQ(GgufError(file), "no error");
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(GgufError(file.substr(0, size)), "no error") << size;
  }
}

TEST(GgufFileTest, NamesUnsupportedVersionsAndTypes) {
  EXPECT_THAT(GgufError("PK\x03\x04 and more"), HasSubstr("\"GGUF\""));
  GgufWriter writer = Small();
  writer.version = 1;
  EXPECT_THAT(GgufError(writer), HasSubstr("version 1"));
  writer.version = 0x03000000;
  EXPECT_THAT(GgufError(writer), HasSubstr("big-endian"));
  EXPECT_THAT(GgufError(GgufWriter().Info("x", {1, 256}, 10, 0)),
              HasSubstr("tensor 'x': type Q2_K is not supported"));
  EXPECT_THAT(GgufError(GgufWriter().Info("x", {1, 256}, 999, 0)),
              HasSubstr("type 999 is not supported"));
}

TEST(GgufFileTest, RefusesWrongLengths) {
  constexpr uint64_t kMost = ~uint64_t{0};
  GgufWriter writer = Small();
  writer.value_count = kMost;
  EXPECT_NE(GgufError(writer), "no error");
  writer = Small();
  writer.tensor_count = kMost;
  EXPECT_NE(GgufError(writer), "no error");
  const auto list = [](uint32_t type, uint64_t count) {
    return LittleEndian(type, 4) + LittleEndian(count, 8);
  };
  EXPECT_THAT(GgufError(GgufWriter().Value("v", GgufWriter::kText,
                                           LittleEndian(kMost, 8))),
              HasSubstr("truncated"));
  EXPECT_THAT(
      GgufError(GgufWriter().Value("v", GgufWriter::kList, list(0, kMost))),
      HasSubstr("truncated"));
  EXPECT_THAT(GgufError(GgufWriter().Value(std::string(2000, 'n'), 1)),
              HasSubstr("longer than"));
  // JSON values are far larger than the bytes they are made from.
  EXPECT_THAT(
      GgufError(GgufWriter().Value("v", GgufWriter::kList,
                                   list(0, 8 << 20) + std::string(8 << 20, 0))),
      HasSubstr("256 MiB of memory"));
  // Nested lists of one element each.
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += list(GgufWriter::kList, 1);
  EXPECT_THAT(GgufError(GgufWriter().Value("v", GgufWriter::kList,
                                           nested + list(0, 0))),
              HasSubstr("deeper"));
}

TEST(GgufFileTest, RefusesBrokenValues) {
  EXPECT_THAT(GgufError(GgufWriter().Value("v", 77, "")),
              HasSubstr("value 'v': its type is 77"));
  EXPECT_THAT(GgufError(GgufWriter().Value("v", GgufWriter::kBool, "\x02")),
              HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(GgufError(GgufWriter().Value("v", "\xFF")),
              HasSubstr("not UTF-8"));
  EXPECT_THAT(GgufError(GgufWriter().Value("v", 1).Value("v", 2)),
              HasSubstr("value 'v' appears twice"));
  EXPECT_THAT(GgufError(GgufWriter().Value("general.alignment", 24)),
              HasSubstr("power of two"));
  EXPECT_THAT(GgufError(GgufWriter().Value("general.alignment", 0)),
              HasSubstr("power of two"));
}

TEST(GgufFileTest, RefusesBrokenTensors) {
  const auto error = [](const std::vector<uint64_t>& shape, uint32_t type,
                        uint64_t offset) {
    GgufWriter writer;
    writer.Info("x", shape, type, offset).data = std::string(64, 0);
    return GgufError(writer);
  };
  EXPECT_EQ(error({16}, 0, 0), "no error");
  EXPECT_THAT(error({17}, 0, 0), HasSubstr("truncated"));
  EXPECT_THAT(error({1}, 0, 64), HasSubstr("truncated"));
  EXPECT_THAT(error({1}, 0, ~uint64_t{31}), HasSubstr("truncated"));
  EXPECT_THAT(error({1}, 0, 4), HasSubstr("not a multiple of 32"));
  EXPECT_THAT(error({uint64_t{1} << 63}, 0, 0),
              HasSubstr("sizes is not valid"));
  EXPECT_THAT(error({uint64_t{1} << 32, uint64_t{1} << 32}, 0, 0),
              HasSubstr("too large"));
  EXPECT_THAT(error({uint64_t{1} << 62}, 0, 0), HasSubstr("too large"));
  EXPECT_THAT(error({1, 1, 1, 1, 1}, 0, 0), HasSubstr("5 dimensions"));
  // Tensors in blocks.
  EXPECT_EQ(error({1, 32}, 8, 0), "no error");
  EXPECT_THAT(error({32}, 8, 0), HasSubstr("whole blocks of 32, which Q8_0"));
  EXPECT_THAT(error({2, 16}, 8, 0), HasSubstr("whole blocks"));
  EXPECT_THAT(error({1, 33}, 8, 0), HasSubstr("whole blocks"));
  EXPECT_THAT(error({1, 128}, 12, 0), HasSubstr("blocks of 256, which Q4_K"));
  GgufWriter twice;
  twice.Info("x", {8}, 0, 0).Info("x", {8}, 0, 32).data = std::string(64, 0);
  EXPECT_THAT(GgufError(twice), HasSubstr("tensor 'x' appears twice"));
  GgufWriter overlapping;
  overlapping.Info("x", {9}, 0, 0).Info("y", {8}, 0, 32).data =
      std::string(64, 0);
  EXPECT_THAT(GgufError(overlapping), HasSubstr("tensor 'y' overlaps"));
}

}  // namespace
}  // namespace trivium
