#include "model/weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

absl::Status ReadError(const std::string& file) {
  return ReadSafetensors(Bytes(file)).status();
}

// Returns a file with one tensor "x" with this entry and 16 bytes of data.
std::string OneTensor(std::string_view entry) {
  return Safetensors("{\"x\": " + std::string(entry) + "}",
                     Floats({1, 2, 3, 4}));
}

TEST(SafetensorsTest, ReadsTensorsAsViews) {
  const std::string file = Safetensors(
      R"({"__metadata__": {"format": "pt"},
          "b": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
          "a": {"dtype": "BF16", "shape": [], "data_offsets": [16, 18]},
          "e": {"dtype": "I64", "shape": [0, 7], "data_offsets": [18, 18]}})",
      Floats({1, 2, 3, 4}) + "\x80\x3f");
  const absl::StatusOr<TensorFile> read = ReadSafetensors(Bytes(file));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->tensors.size(), 3u);
  const TensorView& b = read->tensors.at("b");
  EXPECT_THAT(b.shape, ElementsAre(2, 2));
  EXPECT_EQ(b.elements(), 4);
  EXPECT_EQ(static_cast<const void*>(b.data.data()),
            file.data() + file.size() - 18);
  float middle[2];
  CopyToF32(b, 1, middle);
  EXPECT_THAT(middle, ElementsAre(2, 3));
  float one[1];
  CopyToF32(read->tensors.at("a"), 0, one);
  EXPECT_EQ(one[0], 1);
  EXPECT_EQ(read->tensors.at("e").elements(), 0);
}

TEST(SafetensorsTest, RefusesEveryTruncation) {
  const std::string file =
      OneTensor(R"({"dtype": "F32", "shape": [4], "data_offsets": [0, 16]})");
  ASSERT_EQ(ReadError(file), absl::OkStatus());
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(ReadError(file.substr(0, size)), absl::OkStatus()) << size;
  }
  EXPECT_THAT(ReadError(file + "x"),
              IsError(StatusCode::kInvalidArgument, "end"));
}

TEST(SafetensorsTest, RefusesWrongHeaders) {
  EXPECT_THAT(ReadError(LittleEndian(~uint64_t{0}, 8) + "{}"),
              IsError(StatusCode::kInvalidArgument, "18446744073709551615"));
  EXPECT_THAT(ReadError(Safetensors("[]", "")),
              IsError(StatusCode::kInvalidArgument, "object"));
  EXPECT_THAT(ReadError(Safetensors("{\"x\"", "")),
              IsError(StatusCode::kInvalidArgument, "header"));
  EXPECT_THAT(ReadError(OneTensor("3")),
              IsError(StatusCode::kInvalidArgument, "'x'"));
  EXPECT_THAT(ReadError(OneTensor("{}")),
              IsError(StatusCode::kInvalidArgument, "dtype"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F64", "shape": [2],
                                  "data_offsets": [0, 16]})")),
              IsError(StatusCode::kInvalidArgument, "F64"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F32", "shape": [-4],
                                  "data_offsets": [0, 16]})")),
              IsError(StatusCode::kInvalidArgument, "shape"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F32", "shape": [4.0],
                                  "data_offsets": [0, 16]})")),
              IsError(StatusCode::kInvalidArgument, "shape"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F32", "shape": [4],
                                  "data_offsets": [0, 16, 32]})")),
              IsError(StatusCode::kInvalidArgument, "data_offsets"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F32", "shape": [4],
                                  "data_offsets": [16, 0]})")),
              IsError(StatusCode::kInvalidArgument, "begins"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F32", "shape": [5],
                                  "data_offsets": [0, 20]})")),
              IsError(StatusCode::kInvalidArgument, "truncated"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F32", "shape": [3],
                                  "data_offsets": [0, 16]})")),
              IsError(StatusCode::kInvalidArgument, "[3]"));
  EXPECT_THAT(
      ReadError(OneTensor(R"({"dtype": "F32",
                      "shape": [4294967296, 4294967296, 4],
                      "data_offsets": [0, 16]})")),
      IsError(StatusCode::kInvalidArgument, "[4294967296, 4294967296, 4]"));
  EXPECT_THAT(ReadError(OneTensor(R"({"dtype": "F32",
                      "shape": [18446744073709551615],
                      "data_offsets": [0, 16]})")),
              IsError(StatusCode::kInvalidArgument, "shape"));
}

TEST(SafetensorsTest, EveryByteBelongsToOneTensor) {
  EXPECT_THAT(
      ReadError(Safetensors(
          R"({"x": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
              "y": {"dtype": "U8", "shape": [2], "data_offsets": [2, 4]}})",
          "abcd")),
      IsError(StatusCode::kInvalidArgument, "'y'"));
  EXPECT_THAT(
      ReadError(Safetensors(
          R"({"x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
              "y": {"dtype": "U8", "shape": [2], "data_offsets": [2, 4]}})",
          "abcd")),
      IsError(StatusCode::kInvalidArgument, "before"));
}

TEST(SafetensorsTest, EscapesNamesInErrors) {
  EXPECT_EQ(Quoted("a\n\x1b[31m\xff"), "'a\\x0a\\x1b[31m\\xff'");
  EXPECT_EQ(Quoted(std::string(101, 'a')),
            "'" + std::string(100, 'a') + "...'");
}

TEST(SafetensorsTest, BoundsDepthAndMemoryOfTheHeader) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_THAT(ReadError(OneTensor(deep)),
              IsError(StatusCode::kInvalidArgument, "64"));
  // Values of few bytes each.
  std::string values = "{\"__metadata__\": [{}";
  for (int i = 0; i < 3'000'000; ++i) values += ",{}";
  EXPECT_THAT(ReadError(Safetensors(values + "]}", "")),
              IsError(StatusCode::kInvalidArgument, "memory"));
  const std::string spaces(17 << 20, ' ');
  EXPECT_THAT(ReadError(Safetensors("{" + spaces + "}", "")),
              IsError(StatusCode::kInvalidArgument, "16777216"));
}

}  // namespace
}  // namespace trivium
