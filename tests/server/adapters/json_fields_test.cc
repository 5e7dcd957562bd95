#include "server/adapters/json_fields.h"

#include <gmock/gmock.h>

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// What is said of {"a": value} where `read` reads it.
template <typename Read>
std::string ErrorOf(const char* value, Read read) {
  const json object = json::parse(std::string("{\"a\":") + value + "}");
  JsonFields fields(object, "x.");
  read(&fields);
  return std::string(fields.Done().message());
}

TEST(JsonFieldsTest, ReadsMembersByType) {
  const json object = json::parse(
      R"({"s":"t","b":true,"i":-3,"n":0.5,"l":["a","b"],"null":null})");
  JsonFields fields(object, "");
  EXPECT_EQ(fields.String("s"), "t");
  EXPECT_EQ(fields.Bool("b"), true);
  EXPECT_EQ(fields.Integer("i", -3, 3), -3);
  EXPECT_EQ(fields.Number("n"), 0.5f);
  EXPECT_THAT(fields.Strings("l"), ElementsAre("a", "b"));
  EXPECT_THAT(fields.Strings("s"), ElementsAre("t"));
  EXPECT_EQ(fields.String("none"), std::nullopt);
  EXPECT_EQ(fields.String("null"), std::nullopt);
  EXPECT_TRUE(fields.Done().ok()) << fields.Done();
}

TEST(JsonFieldsTest, AMemberThatWouldBeIgnoredIsAnError) {
  EXPECT_THAT(ErrorOf("1", [](JsonFields*) {}),
              HasSubstr("x.a: is not known here"));
  EXPECT_EQ(ErrorOf("null", [](JsonFields*) {}), "");
  const auto only = [](JsonFields* fields) {
    fields->Only("a", {false, 1}, "is not supported");
  };
  EXPECT_EQ(ErrorOf("false", only), "");
  EXPECT_EQ(ErrorOf("1", only), "");
  EXPECT_EQ(ErrorOf("true", only), "x.a: is not supported");
}

TEST(JsonFieldsTest, TypesAndRangesAreChecked) {
  const auto integer = [](JsonFields* fields) { fields->Integer("a", 0, 9); };
  for (const char* bad : {"-1", "10", "1.5", "\"1\"", "true", "[1]",
                          "18446744073709551615", "1e99"}) {
    EXPECT_THAT(ErrorOf(bad, integer), HasSubstr("0 .. 9")) << bad;
  }
  const auto number = [](JsonFields* fields) { fields->Number("a"); };
  for (const char* bad : {"\"1\"", "1e300", "{}"}) {
    EXPECT_THAT(ErrorOf(bad, number), HasSubstr("a number")) << bad;
  }
  EXPECT_THAT(ErrorOf("1", [](JsonFields* fields) { fields->String("a"); }),
              HasSubstr("a string"));
  EXPECT_THAT(ErrorOf("1", [](JsonFields* fields) { fields->Bool("a"); }),
              HasSubstr("true or false"));
  EXPECT_THAT(
      ErrorOf("[\"b\",1]", [](JsonFields* fields) { fields->Strings("a"); }),
      HasSubstr("x.a[1]"));
}

TEST(JsonFieldsTest, TheFirstErrorStays) {
  const json object = json::parse(R"({"a":1,"b":2})");
  JsonFields fields(object, "");
  fields.Require("c");
  fields.String("a");
  EXPECT_EQ(fields.Done().message(), "c: is missing");
}

TEST(JsonFieldsTest, IdsAreWholeNumbers) {
  EXPECT_TRUE(IsIds(json::parse("[0,4294967295]")));
  for (const char* none :
       {"[]", "[-1]", "[1.5]", "[4294967296]", "[\"1\"]", "1", "{}", "[[1]]"}) {
    EXPECT_FALSE(IsIds(json::parse(none))) << none;
  }
}

}  // namespace
}  // namespace trivium
