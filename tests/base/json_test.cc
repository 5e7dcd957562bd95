#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;

constexpr JsonLimits kSmall = {1000, 1 << 20};

absl::Status JsonError(const std::string& text,
                       const JsonLimits& limits = kSmall) {
  return ParseJson(text, limits).status();
}

std::string Nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += i % 2 == 0 ? "[" : "{\"x\":";
  text += "0";
  for (int i = depth; i-- > 0;) text += i % 2 == 0 ? "]" : "}";
  return text;
}

TEST(JsonTest, ReadsValues) {
  const auto value = ParseJson(R"({"a": [1, "]}\"[", null]})", kSmall);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ((*value)["a"][1], "]}\"[");
}

TEST(JsonTest, BoundsTheDepth) {
  EXPECT_EQ(JsonError(Nested(kMaxJsonDepth)), absl::OkStatus());
  EXPECT_THAT(JsonError(Nested(kMaxJsonDepth + 1)),
              IsError(StatusCode::kInvalidArgument, "64"));
  // Text that would overflow the stack of a recursive parser.
  EXPECT_THAT(JsonError(Nested(100'000), kTokenizerJson),
              IsError(StatusCode::kInvalidArgument, "64"));
  // Consecutive brackets and brackets in strings are not nested.
  std::string flat = "[\"" + std::string(200, '[') + "\"";
  for (int i = 0; i < 100; ++i) flat += ",[]";
  EXPECT_EQ(JsonError(flat + "]"), absl::OkStatus());
}

TEST(JsonTest, BoundsTheMemory) {
  std::string values = "[{}";
  for (int i = 0; i < 300; ++i) values += ",{}";
  values += "]";
  EXPECT_EQ(JsonError(values, {1000, 64'000}), absl::OkStatus());
  EXPECT_THAT(JsonError(values, {1000, 10'000}),
              IsError(StatusCode::kInvalidArgument, "9 KiB of memory"));
  EXPECT_THAT(JsonError(values, {100, 64'000}),
              IsError(StatusCode::kInvalidArgument, "100"));
}

TEST(JsonTest, RefusesTextsThatAreNotJson) {
  for (const char* text :
       {"", "[", "]", "[]]", "{\"a\"", "\"", "\"\\", "{1:2}", "[1e999]",
        "\"\xff\"", "[1,]", "nul", "\xef\xbb\xbf"}) {
    EXPECT_THAT(JsonError(text), IsError(StatusCode::kInvalidArgument, "JSON"))
        << text;
  }
}

// Transformers wrote them so before version 5.
TEST(JsonTest, ReadsPythonsInfinity) {
  const TemporaryFolder folder;
  folder.Write("a.json",
               R"({"a": [0.0, Infinity, -Infinity], "NaN \" Infinity": NaN})");
  const auto value = ReadJsonFile(folder.path() + "/a.json");
  ASSERT_TRUE(value.ok()) << value.status();
  const nlohmann::json infinity = {{"__float__", "Infinity"}};
  EXPECT_EQ((*value)["a"][1], infinity);
  EXPECT_EQ((*value)["a"][2], nlohmann::json({{"__float__", "-Infinity"}}));
  EXPECT_EQ((*value)["NaN \" Infinity"],
            nlohmann::json({{"__float__", "NaN"}}));
  folder.Write("a.json", "{\"a\": Infinity");
  EXPECT_THAT(ReadJsonFile(folder.path() + "/a.json").status(),
              IsError(StatusCode::kInvalidArgument, "a.json"));
}

TEST(JsonTest, NamesTheFileInErrors) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.json";
  EXPECT_THAT(ReadJsonFile(path).status(),
              IsError(StatusCode::kNotFound, "x.json"));
  folder.Write("x.json", "[1]");
  EXPECT_THAT(ReadJsonFile(path).status(),
              IsError(StatusCode::kInvalidArgument, path));
  EXPECT_EQ(ReadJsonList(path).value(), nlohmann::json({1}));
  folder.Write("x.json", "{}");
  EXPECT_TRUE(ReadJsonFile(path).ok());
  EXPECT_THAT(ReadJsonList(path).status(),
              IsError(StatusCode::kInvalidArgument, "list"));
  folder.Write("x.json", Nested(1000));
  EXPECT_THAT(ReadJsonFile(path).status(),
              IsError(StatusCode::kInvalidArgument, "64"));
}

}  // namespace
}  // namespace trivium
