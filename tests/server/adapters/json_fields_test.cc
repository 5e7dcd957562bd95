#include "server/adapters/json_fields.h"

#include <gmock/gmock.h>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;

auto FieldErrorAt(const char* place) {
  return IsError(absl::StatusCode::kInvalidArgument, place);
}

// The status of fields whose {"a": value} is read by `read`.
template <typename Read>
absl::Status Done(const char* value, Read read) {
  const json object = json::parse(std::string("{\"a\":") + value + "}");
  JsonFields fields(object, "x.");
  read(&fields);
  return fields.Done();
}

TEST(JsonFieldsTest, IgnoresMembersUnlessStrict) {
  const json object = json::parse(R"({"metadata":{},"store":true})");
  IgnoredMembers lenient(/*strict=*/false), strict(/*strict=*/true);
  for (IgnoredMembers* const log :
       {&lenient, static_cast<IgnoredMembers*>(nullptr)}) {
    JsonFields fields(object, "");
    fields.Ignore("Shape", log, {"metadata", "store", "other"});
    EXPECT_TRUE(fields.Done().ok()) << fields.Done();
  }
  JsonFields refused(object, "");
  refused.Ignore("Shape", &strict, {"metadata", "store"});
  EXPECT_THAT(refused.Done(), FieldErrorAt("metadata"));
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
  EXPECT_THAT(Done("1", [](JsonFields*) {}), FieldErrorAt("x.a"));
  EXPECT_TRUE(Done("null", [](JsonFields*) {}).ok());
  const auto only = [](JsonFields* fields) {
    fields->Only("a", {false, 1}, "is not supported");
  };
  EXPECT_TRUE(Done("false", only).ok());
  EXPECT_TRUE(Done("1", only).ok());
  EXPECT_THAT(Done("true", only), FieldErrorAt("x.a: is not supported"));
}

TEST(JsonFieldsTest, ChecksTypesAndRanges) {
  const auto integer = [](JsonFields* fields) { fields->Integer("a", 0, 9); };
  for (const char* bad : {"-1", "10", "1.5", "\"1\"", "true", "[1]",
                          "18446744073709551615", "1e99"}) {
    EXPECT_THAT(Done(bad, integer), FieldErrorAt("x.a")) << bad;
  }
  // Clients whose language has one kind of numbers send these.
  for (const char* whole : {"9", "9.0", "9e0", "0.9e1", "-0.0"}) {
    EXPECT_TRUE(Done(whole, integer).ok()) << whole;
  }
  const auto number = [](JsonFields* fields) { fields->Number("a"); };
  for (const char* bad : {"\"1\"", "1e300", "{}"}) {
    EXPECT_THAT(Done(bad, number), FieldErrorAt("x.a")) << bad;
  }
  EXPECT_THAT(Done("1", [](JsonFields* fields) { fields->String("a"); }),
              FieldErrorAt("x.a"));
  EXPECT_THAT(Done("1", [](JsonFields* fields) { fields->Bool("a"); }),
              FieldErrorAt("x.a"));
  EXPECT_THAT(
      Done("[\"b\",1]", [](JsonFields* fields) { fields->Strings("a"); }),
      FieldErrorAt("x.a[1]"));
}

TEST(JsonFieldsTest, WhatIsThereInsteadOfAMissingMemberIsNamed) {
  const json object =
      json::parse(R"({"text":"a","known":1,"null":null,"content":"b"})");
  JsonFields fields(object, "x.");
  fields.Value("known");
  fields.Require("inputs");
  fields.Require("other");
  EXPECT_THAT(fields.Done(), FieldErrorAt("x.inputs: is missing; not known "
                                          "here: content, text"));
  JsonFields both(object, "");
  both.Fail("known", "is wrong");
  both.Require("inputs");
  EXPECT_THAT(both.Done(), FieldErrorAt("known: is wrong"));
}

TEST(JsonFieldsTest, KeepsTheFirstError) {
  const json object = json::parse(R"({"a":1,"b":2})");
  JsonFields fields(object, "");
  fields.Require("c");
  fields.String("a");
  EXPECT_THAT(fields.Done(), FieldErrorAt("c: "));
}

TEST(JsonFieldsTest, AcceptsOnlyWholeNumbersAsIds) {
  EXPECT_TRUE(IsIds(json::parse("[0,4294967295]")));
  for (const char* none :
       {"[]", "[-1]", "[1.5]", "[4294967296]", "[\"1\"]", "1", "{}", "[[1]]"}) {
    EXPECT_FALSE(IsIds(json::parse(none))) << none;
  }
}

}  // namespace
}  // namespace trivium
