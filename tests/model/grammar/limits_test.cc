// Constraints that would cost a lot, and the bounds that they meet.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "model/grammar/frontends.h"
#include "nlohmann/json.hpp"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode::kCancelled;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kResourceExhausted;
using nlohmann::json;

absl::Status StatusOfSchema(const json& schema,
                            const JsonSchemaOptions& options = {}) {
  const auto grammar = GrammarOfJsonSchema(schema.dump(), options);
  if (!grammar.ok()) return grammar.status();
  return Automaton::Create(*grammar).status();
}

// An object of properties p0, p1, ... and no others.
json ClosedObject(int properties) {
  json schema = {{"type", "object"},
                 {"properties", json::object()},
                 {"additionalProperties", false}};
  for (int i = 0; i < properties; ++i) {
    schema["properties"][fmt::format("p{}", i)] = {{"type", "null"}};
  }
  return schema;
}

TEST(GrammarLimitsTest, CountedPropertiesAreHeldOrRefused) {
  json few = ClosedObject(60);
  few["minProperties"] = 1'000'000'000;
  EXPECT_THAT(StatusOfSchema(few),
              IsError(kInvalidArgument, "#/minProperties"));
  few["minProperties"] = 30;
  EXPECT_EQ(StatusOfSchema(few), absl::OkStatus());
  json many = ClosedObject(2000);
  many["minProperties"] = 1500;
  EXPECT_THAT(StatusOfSchema(many), IsError(kResourceExhausted, "#"));
  many.erase("minProperties");
  many["maxProperties"] = 1000;
  EXPECT_THAT(StatusOfSchema(many), IsError(kResourceExhausted, "#"));
  json free = ClosedObject(10);
  free["additionalProperties"] = true;
  JsonSchemaOptions any_order;
  any_order.any_order = true;
  EXPECT_TRUE(StatusOfSchema(free, any_order).ok());
  free["maxProperties"] = 1000;
  EXPECT_THAT(StatusOfSchema(free, any_order),
              IsError(kResourceExhausted, "#"));
  // Names are compared with each other, so many of them are work.
  std::string names;
  for (int i = 0; i < 14'000; ++i) names += fmt::format(R"("{:x}":1,)", i);
  names.pop_back();
  EXPECT_THAT(GrammarOfJsonSchema(R"({"properties":{)" + names + "}}").status(),
              IsError(kResourceExhausted, "#"));
}

TEST(GrammarLimitsTest, PatternsThatMatchOneNameAreNotJoined) {
  json schema = {{"type", "object"}, {"properties", {{"a", json::object()}}}};
  for (int i = 0; i < 100; ++i) {
    schema["patternProperties"][fmt::format("^a|{}$", i)] = {{"minLength", i}};
  }
  EXPECT_THAT(StatusOfSchema(schema),
              IsError(kInvalidArgument, "#/patternProperties/"));
}

TEST(GrammarLimitsTest, RepetitionsDoNotNestWithoutAGroup) {
  const std::string stars(99'900, '*');
  for (const std::string& text :
       {"root ::= \"a\"" + stars + "\n", std::string("root ::= \"a\"{2}+\n"),
        std::string("root ::= (\"a\" ? ?)\n")}) {
    EXPECT_THAT(GrammarOfGbnf(text).status(),
                IsError(kInvalidArgument, "line 1, column"));
  }
  EXPECT_TRUE(
      Accepts(*ConstraintOf(GrammarOfGbnf("root ::= (\"a\"{2})+\n")), "aaaa"));
}

TEST(GrammarLimitsTest, ProductsOfCountsCostNoMemory) {
  // The product is 2^72.
  const auto constraint =
      ConstraintOf(GrammarOfRegex("((a{0,16777216}){16777216}){0,16777216}b"));
  ASSERT_NE(constraint, nullptr);
  EXPECT_TRUE(Accepts(*constraint, "b"));
  // Each count is told apart, by a number of 31 bits.
  std::string expression;
  for (int i = 0; i < 200; ++i) expression += "a{16777216}";
  const auto grammar = GrammarOfRegex(expression);
  ASSERT_TRUE(grammar.ok());
  EXPECT_THAT(Automaton::Create(*grammar).status(),
              IsError(kResourceExhausted, "counts"));
}

// A greatest length costs no memory beside a pattern either; a least one does.
TEST(GrammarLimitsTest, OnlyLeastCountsBesideAPatternAreStates) {
  const auto status = [](const char* keyword, int count) {
    return StatusOfSchema(
        {{"type", "string"}, {"pattern", "^a"}, {keyword, count}});
  };
  EXPECT_TRUE(status("maxLength", 1'000'000).ok());
  EXPECT_TRUE(status("minLength", 1000).ok());
  EXPECT_THAT(status("minLength", 50'000),
              IsError(kResourceExhausted, "#/minLength"));
  json many = ClosedObject(0);
  for (int i = 0; i < 200; ++i) {
    many["properties"][fmt::format("p{}", i)] = {
        {"type", "string"}, {"pattern", "^a"}, {"maxLength", 16'000'000}};
  }
  const auto grammar = GrammarOfJsonSchema(many.dump());
  ASSERT_TRUE(grammar.ok()) << grammar.status();
  EXPECT_THAT(Automaton::Create(*grammar).status(),
              IsError(kResourceExhausted, "counts"));
}

TEST(GrammarLimitsTest, EmptyAlternativesAreWork) {
  // 10,000 empty edges for each of 10,000 repetitions.
  const std::string pattern = "^(a" + std::string(10'000, '|') + "){10000}$";
  EXPECT_THAT(StatusOfSchema(
                  {{"type", "string"}, {"pattern", pattern}, {"maxLength", 5}}),
              IsError(kResourceExhausted, "#/pattern"));
}

TEST(GrammarLimitsTest, AllStepsOfASchemaAreOneBudget) {
  // Each of the patterns is cheap.
  json schema = ClosedObject(0);
  for (int i = 0; i < 20; ++i) {
    schema["properties"][fmt::format("p{}", i)] = {
        {"type", "string"}, {"pattern", "[a-z]"}, {"minLength", 50}};
  }
  GrammarLimits limits;
  EXPECT_EQ(GrammarOfJsonSchema(schema.dump(), {}, limits).status(),
            absl::OkStatus());
  limits.work = 20'000;
  EXPECT_THAT(GrammarOfJsonSchema(schema.dump(), {}, limits).status(),
              IsError(kResourceExhausted, "#/properties/p"));
  // A join looks each property up among the others.
  const json joined = {
      {"allOf", json::array({ClosedObject(600), ClosedObject(600)})}};
  EXPECT_EQ(GrammarOfJsonSchema(joined.dump()).status(), absl::OkStatus());
  limits.work = 400'000;
  EXPECT_THAT(GrammarOfJsonSchema(joined.dump(), {}, limits).status(),
              IsError(kResourceExhausted, "#"));
}

// Items that must differ are looked for behind each reference.
TEST(GrammarLimitsTest, ValuesOfItemsAreWork) {
  json schema = {{"type", "array"},
                 {"uniqueItems", true},
                 {"items", {{"$ref", "#/$defs/0"}}}};
  for (int i = 0; i < 28; ++i) {
    const json next = {{"$ref", fmt::format("#/$defs/{}", i + 1)}};
    schema["$defs"][fmt::format("{}", i)] = {{"anyOf", {next, next}}};
  }
  schema["$defs"]["28"] = {{"const", 1}};
  EXPECT_THAT(StatusOfSchema(schema), IsError(kResourceExhausted, "#/items"));
}

TEST(GrammarLimitsTest, WorkThatNobodyWaitsForEnds) {
  const AliveCheck gone = [] { return absl::CancelledError("gone"); };
  const std::string schema =
      R"({"type":"string","pattern":"(a|b)*a(a|b){6}","maxLength":90})";
  const auto grammar = GrammarOfJsonSchema(schema);
  ASSERT_TRUE(grammar.ok()) << grammar.status();
  EXPECT_EQ(GrammarOfJsonSchema(schema, {}, {}, gone).status().code(),
            kCancelled);
  const auto long_text = GrammarOfRegex(std::string(60'000, 'a'));
  ASSERT_TRUE(long_text.ok());
  EXPECT_EQ(Automaton::Create(*long_text, gone).status().code(), kCancelled);
}

TEST(GrammarLimitsTest, ManyJoinsDoNotNest) {
  json all = json::array();
  for (int i = 0; i < 100; ++i) {
    all.push_back({{"properties", {{"a", {{"minimum", i}}}}}});
  }
  const json schema = {{"type", "object"}, {"required", {"a"}}, {"allOf", all}};
  const auto constraint = ConstraintOf(GrammarOfJsonSchema(schema.dump()));
  ASSERT_NE(constraint, nullptr);
  EXPECT_TRUE(Accepts(*constraint, R"({"a":99})"));
  EXPECT_FALSE(Accepts(*constraint, R"({"a":98})"));
}

}  // namespace
}  // namespace trivium
