#include "server/adapters/json_body.h"

#include <gmock/gmock.h>

namespace trivium {
namespace {

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

TEST(JsonBodyTest, SearchesAnyBytes) {
  for (const char* body : {"", "{", "{\"", "{\"a\\", "]]]", "[\"b\"", "\"a\"",
                           "{{\"a\"", "}}{\"b\"", "\\\"a"}) {
    EXPECT_FALSE(HasMember(body, "a")) << body;
  }
}

}  // namespace
}  // namespace trivium
