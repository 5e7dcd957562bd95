#include "model/marian/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using nlohmann::json;

constexpr JsonLimits kSmall = {1000, 30'000};

absl::Status Error(const std::string& text, const JsonLimits& limits = kSmall) {
  return ParseYaml(text, limits).status();
}

TEST(YamlTest, ReadsValuesThatJsonCanExpress) {
  const auto value = ParseYaml(
      "type: transformer\n"
      "dim-vocabs:\n  - 1000\n  - 500\n"
      "input-types:\n  []\n"
      "skip: false\nfactor: 0.5\nnothing: ~\nquoted: \"1\"\nempty: \"\"\n"
      "\"a: b\": '\xC3\xA4'\nno: 7\nmap: {x: [1, true], y: text}\n",
      kSmall);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, json::parse(R"({
    "type": "transformer", "dim-vocabs": [1000, 500], "input-types": [],
    "skip": false, "factor": 0.5, "nothing": null, "quoted": "1", "empty": "",
    "a: b": "\u00e4", "no": 7, "map": {"x": [1, true], "y": "text"}})"));
  EXPECT_EQ(*ParseYaml("just a text", kSmall), "just a text");
  EXPECT_EQ(*ParseYaml("", kSmall), nullptr);
  EXPECT_EQ(*ParseYaml("a: 1\n---\nb: 2\n", kSmall), (json{{"a", 1}}));
}

TEST(YamlTest, NamesTheProblemAndTheLine) {
  EXPECT_THAT(Error("a: 1\nb: [1\n"),
              IsError(StatusCode::kInvalidArgument, "line 3"));
  EXPECT_THAT(Error("a: \x01"), IsError(StatusCode::kInvalidArgument, "YAML"));
  EXPECT_THAT(Error("a: 1\nb: 2\na: 3\n"),
              IsError(StatusCode::kInvalidArgument, "'a'"));
  EXPECT_THAT(Error("a: &x [1]\nb: *x\n"),
              IsError(StatusCode::kInvalidArgument, "alias"));
  EXPECT_THAT(Error("? [1]\n: 2\n"),
              IsError(StatusCode::kInvalidArgument, "text"));
}

// Thousands of them would take libyaml quadratic time.
TEST(YamlTest, BoundsTagDirectives) {
  const auto tags = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += "%TAG !t" + std::to_string(i) + "! tag:x,2026:\n";
    }
    return text + "---\na: 1\n";
  };
  EXPECT_EQ(*ParseYaml(tags(16), kConfigJson), (json{{"a", 1}}));
  EXPECT_THAT(Error(tags(17), kConfigJson),
              IsError(StatusCode::kInvalidArgument, "17 %TAG directives"));
}

TEST(YamlTest, ReadsUtf8Only) {
  EXPECT_FALSE(ParseYaml(std::string("\xFF\xFE"
                                     "a\0:\0 \0"
                                     "1\0",
                                     10),
                         kSmall)
                   .ok());
  EXPECT_EQ(*ParseYaml("\xEF\xBB\xBF"
                       "a: 1",
                       kSmall),
            (json{{"a", 1}}));
}

TEST(YamlTest, BoundsDepthAndMemory) {
  const auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(Error(nested(kMaxJsonDepth)), absl::OkStatus());
  EXPECT_THAT(Error(nested(kMaxJsonDepth + 1)),
              IsError(StatusCode::kInvalidArgument, "64"));
  EXPECT_THAT(Error(std::string(100'000, '['), kConfigJson),
              IsError(StatusCode::kInvalidArgument, "64"));
  EXPECT_THAT(Error(std::string(1001, 'a')),
              IsError(StatusCode::kInvalidArgument, "1000"));
  std::string list;
  for (int i = 0; i < 200; ++i) list += "- 1\n";
  EXPECT_THAT(Error(list), IsError(StatusCode::kInvalidArgument, "memory"));
}

TEST(YamlTest, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/decoder.yml";
  EXPECT_THAT(ReadYamlFile(path).status(),
              IsError(StatusCode::kNotFound, path));
  folder.Write("decoder.yml", "- a\n");
  EXPECT_THAT(ReadYamlFile(path).status(),
              IsError(StatusCode::kInvalidArgument, "mapping"));
  folder.Write("decoder.yml", "a: [");
  EXPECT_THAT(ReadYamlFile(path).status(),
              IsError(StatusCode::kInvalidArgument, path));
}

}  // namespace
}  // namespace trivium
