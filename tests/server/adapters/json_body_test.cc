#include "server/adapters/json_body.h"

#include <gmock/gmock.h>

#include <string>

namespace trivium {
namespace {

using testing::HasSubstr;

TEST(JsonBodyTest, FindsMembersOfTheBodyOnly) {
  const char* const body =
      R"({"a" : "documents", "b":{"texts":1},"c":[{"d":2},"e"],"f\"g":"x","h":0})";
  for (const char* name : {"a", "b", "c", "h"}) {
    EXPECT_TRUE(HasMember(body, name)) << name;
  }
  EXPECT_TRUE(HasMember(body, "b.texts"));
  for (const char* name : {"c.d", "a.texts", "b.", ".texts", "b.b.texts"}) {
    EXPECT_FALSE(HasMember(body, name)) << name;
  }
  for (const char* name : {"documents", "texts", "d", "e", "x", "g", ""}) {
    EXPECT_FALSE(HasMember(body, name)) << name;
  }
}

TEST(JsonBodyTest, FilledMembersHaveAValue) {
  const auto filled = [](const std::string& value) {
    const std::string body = "{\"a\": 1, \"b\" : " + value + ", \"c\": 2}";
    EXPECT_EQ(HasMember(body, "b"), value != "null") << value;
    return HasMember(body, "b", /*filled=*/true);
  };
  for (const char* value : {"null", "\"\"", "[]", "[ \n]"}) {
    EXPECT_FALSE(filled(value)) << value;
  }
  for (const char* value : {"\"x\"", "[0]", "{}", "0", "false", "[[]]"}) {
    EXPECT_TRUE(filled(value)) << value;
  }
  EXPECT_FALSE(HasMember(R"({"c":"b"})", "b", true));
  EXPECT_FALSE(HasMember(R"({"b)", "b", true));
  EXPECT_FALSE(HasMember(R"({"b")", "b", true));
  // The last one counts, as where the body is read.
  EXPECT_FALSE(HasMember(R"({"b":"x","b":""})", "b", true));
  EXPECT_TRUE(HasMember(R"({"b":"","b":"x"})", "b", true));
}

TEST(JsonBodyTest, SearchesAnyBytes) {
  for (const char* body : {"", "{", "{\"", "{\"a\\", "]]]", "[\"b\"", "\"a\"",
                           "{{\"a\"", "}}{\"b\"", "\\\"a"}) {
    EXPECT_FALSE(HasMember(body, "a")) << body;
  }
}

TEST(JsonBodyTest, ErrorsSayWhere) {
  const auto error = [](std::string_view body) {
    return std::string(CheckJsonBody(body).message());
  };
  EXPECT_THAT(
      error(R"({"q": ["ok", "hi \ud83d"]})"),
      HasSubstr(R"(has half a character, \ud83d, at byte 17 (line 1,)"));
  EXPECT_THAT(error("{\"q\":\n\"\\udc00 x\"}"),
              HasSubstr(R"(\udc00, at byte 7 (line 2, column 2))"));
  EXPECT_THAT(error(R"({"q":"\u0041\uD83D\u0041"})"),
              HasSubstr(R"(\uD83D, at byte 12)"));
  EXPECT_THAT(error("{\"q\":\"hi \xff\"}"),
              HasSubstr("is not UTF-8 at byte 9"));
  EXPECT_THAT(error(R"({"n": 1e999})"),
              HasSubstr("a number that is too large, 1e999, at byte 6"));
  EXPECT_THAT(error("{\"q\":\n1,}"),
              HasSubstr("is not JSON at byte 8 (line 2, column 3)"));
  EXPECT_THAT(error("{"), HasSubstr("is not JSON at byte 1"));
  EXPECT_THAT(error(""), HasSubstr("is not JSON at byte 0"));
}

TEST(JsonBodyTest, ShortListsOfThousandsAreRead) {
  std::string body = "{\"input\":[[5]";
  for (int i = 1; i < 2048; ++i) body += ",[5]";
  body += "]}";
  EXPECT_EQ(CheckJsonBody(body), absl::OkStatus());
  // Of two bytes each, they would take more memory than the request has room
  // for.
  body = "[{}";
  for (int i = 1; i < 100'000; ++i) body += ",{}";
  body += "]";
  EXPECT_THAT(std::string(CheckJsonBody(body).message()),
              testing::StartsWith("the body needs more than 4 MiB of memory"));
}

}  // namespace
}  // namespace trivium
