// Conditions and choices: what if, not, dependentRequired, oneOf and their like
// hold texts to, for all values of a small universe.
#include <cmath>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "model/grammar/frontends.h"
#include "nlohmann/json.hpp"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/model/grammar/json_validator.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;

JsonSchemaOptions AnyOrder() {
  JsonSchemaOptions options;
  options.space = JsonSpace::kCompact;
  options.any_order = true;
  return options;
}

// Scalars, arrays of up to three of them, objects of up to three.
std::vector<json> Universe() {
  std::vector<json> values = {nullptr, true, false, 0,    1,   2,
                              7,       1.5,  "a",   "ab", "b", ""};
  const std::vector<json> items = {1, 7, "a"};
  std::vector<json> arrays = {json::array()};
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].size() == 3) break;
    for (const json& item : items) {
      arrays.push_back(arrays[i]);
      arrays.back().push_back(item);
    }
  }
  values.insert(values.end(), arrays.begin(), arrays.end());
  std::vector<json> objects = {json::object()};
  for (const char* name : {"a", "b", "c"}) {
    const size_t before = objects.size();
    for (size_t i = 0; i < before; ++i) {
      for (const json& member : {json(1), json("a"), json("b"), json(true)}) {
        objects.push_back(objects[i]);
        objects.back()[name] = member;
      }
    }
  }
  values.insert(values.end(), objects.begin(), objects.end());
  return values;
}

TEST(SchemaVariantsTest, AcceptExactlyTheValidValues) {
  const std::vector<json> universe = Universe();
  const char* const schemas[] = {
      R"({"not":{"const":1}})",
      R"({"not":{"enum":["a",7,true]}})",
      R"({"type":"string","not":{"const":"a"}})",
      R"({"type":["string","null"],"not":{"pattern":"^a"}})",
      R"({"type":"integer","not":{"minimum":2}})",
      R"({"type":"number","not":{"enum":[1,1.5]}})",
      R"({"type":"integer","not":{"enum":[1,7]},"maximum":7})",
      R"({"not":{"type":["object","array","null"]}})",
      R"({"type":"string","not":{"minLength":2}})",
      R"({"type":"string","not":{"not":{"minLength":2}}})",
      R"({"not":{"required":["a"]}})",
      R"({"type":"object","not":{"required":["a","b"]}})",
      R"({"not":{"properties":{"a":{"const":"a"}}}})",
      R"({"not":{"properties":{"a":{"const":"a"},"b":{"type":"string"}},
                 "required":["a"]}})",
      R"({"not":{"anyOf":[{"type":"string"},{"required":["a"]}]}})",
      R"({"not":{"allOf":[{"type":"object"},{"required":["a"]}]}})",
      R"({"not":{"oneOf":[{"type":"string"},{"type":"array"}]}})",
      R"({"not":{"items":{"type":"number"}}})",
      R"({"not":{"contains":{"const":"a"}}})",
      R"({"enum":["a","b",7,null],"not":{"const":"a"}})",
      R"({"enum":["a","ab",1,7],"minLength":2,"maximum":2})",
      R"({"enum":["a","ab"],"pattern":"b$"})",
      R"({"if":{"type":"string"},"then":{"minLength":1},
          "else":{"not":{"type":"null"}}})",
      R"({"type":"object","if":{"properties":{"a":{"const":"a"}},
          "required":["a"]},"then":{"required":["b"]},
          "else":{"properties":{"c":{"type":"string"}}}})",
      R"({"type":"object","if":{"properties":{"a":{"const":"a"}}},
          "then":{"required":["b"]}})",
      R"({"type":"object","properties":{"a":{"enum":["a","b"]},"b":{},"c":{}},
          "additionalProperties":false,"required":["a"],
          "if":{"properties":{"a":{"const":"a"}}},"then":{"required":["b"]},
          "else":{"required":["c"]}})",
      R"({"type":"object","properties":{"a":{"enum":["a","b",1]}},"allOf":[
          {"if":{"properties":{"a":{"const":"a"}},"required":["a"]},
           "then":{"required":["b"]}},
          {"if":{"properties":{"a":{"const":"b"}},"required":["a"]},
           "then":{"required":["c"]}},
          {"if":{"properties":{"a":{"const":1}}},
           "then":{"properties":{"b":{"type":"string"}}}}]})",
      R"({"if":{"type":"object","minProperties":1},"then":{"required":["a"]}})",
      R"({"not":{"type":"integer"}})",
      R"({"type":"number","not":{"type":"integer"}})",
      R"({"not":{"not":{"type":"integer"}}})",
      R"({"oneOf":[{"type":"integer"},{"type":"number"}]})",
      R"({"if":true,"then":{"type":"object"}})",
      R"({"if":false,"then":{"type":"object"},"else":{"type":"array"}})",
      R"({"dependentRequired":{"a":["b"]}})",
      R"({"type":"object","dependentRequired":{"a":["b","c"],"b":["c"]}})",
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{},"c":{}},
          "additionalProperties":false,"dependentRequired":{"a":["b"]}})",
      R"({"type":"object","dependentSchemas":{"a":{"properties":
          {"b":{"type":"string"}},"required":["c"]}}})",
      R"({"type":"object","dependencies":{"a":["b"],
          "b":{"properties":{"c":{"const":1}}}}})",
      R"({"oneOf":[{"required":["a"]},{"required":["b"]}],"type":"object"})",
      R"({"oneOf":[{"type":"object","required":["a"]},
                   {"type":"object","required":["b"]},
                   {"type":"object","required":["c"]}]})",
      R"({"type":"object","properties":{"a":{"type":"string"},
          "b":{"type":"string"}},"oneOf":[{"required":["a"]},
          {"required":["b"]}]})",
      R"({"oneOf":[{"type":"integer","minimum":1},
                   {"type":"integer","maximum":2}]})",
      R"({"oneOf":[{"type":"string","pattern":"a"},
                   {"type":"string","pattern":"b"}]})",
      R"({"oneOf":[{"minimum":2},{"type":"integer","minimum":1}],
          "type":["integer","null"]})",
      R"({"allOf":[{"anyOf":[{"required":["a"]},{"required":["b"]}]},
                   {"anyOf":[{"required":["b"]},{"required":["c"]}]}],
          "type":"object"})",
      R"({"allOf":[{"oneOf":[{"required":["a"]},{"required":["b"]}]},
                   {"oneOf":[{"required":["b"]},{"required":["c"]}]}],
          "type":"object"})",
      R"({"anyOf":[{"required":["a"]},{"type":"array"}],
          "not":{"required":["b"]}})",
      R"({"contains":{"const":7}})",
      R"({"type":"array","contains":{"type":"string"},"items":{"maximum":2}})",
      R"({"type":"array","contains":{"const":1},"minContains":2})",
      R"({"type":"array","contains":{"const":1},"maxContains":1})",
      R"({"type":"array","contains":{"type":"integer"},"minContains":0})",
      R"({"type":"array","contains":{"const":1},"minContains":0,
          "maxContains":1,"minItems":1,"maxItems":2})",
      R"({"type":"array","contains":{"const":1},"minItems":2})",
      R"({"type":"array","contains":{"const":1},"maxItems":2})",
      R"({"type":"object","propertyNames":{"not":{"const":"a"}}})",
      R"({"type":"object","propertyNames":{"not":{"pattern":"a|b"}}})",
      R"({"patternProperties":{"^a":{"type":"string"}},"required":["a"],
          "allOf":[{"required":["b"],"properties":{"c":{"const":1}}}]})",
      R"({"type":"object","patternProperties":{"^a":{"type":"string"}},
          "if":{"required":["a"]},"then":{"required":["b"]}})",
      // A boolean as until draft 4 is not the judge's.
      R"({"type":"object","minProperties":1,"dependentRequired":{"a":["b"]},
          "properties":{"a":{},"b":{},"c":{}},"additionalProperties":false})",
  };
  for (const char* text : schemas) {
    const auto constraint = ConstraintOf(GrammarOfJsonSchema(text, AnyOrder()));
    ASSERT_NE(constraint, nullptr) << text;
    const json schema = json::parse(text);
    int valid = 0;
    for (const json& value : universe) {
      const bool is_valid = IsValid(value, schema, schema);
      valid += is_valid;
      EXPECT_EQ(Accepts(*constraint, value.dump()), is_valid) << text << "\n"
                                                              << value;
    }
    EXPECT_GT(valid, 0) << text;
    EXPECT_LT(valid, static_cast<int>(universe.size())) << text;
  }
}

// Of a choice that names properties, a value has those of one schema: fewer
// than it might have.
TEST(SchemaVariantsTest, PropertiesThatNoSchemaNames) {
  const auto held = [](const char* schema) {
    return ConstraintOf(GrammarOfJsonSchema(schema, AnyOrder()));
  };
  const auto joined = held(
      R"({"$defs":{"base":{"properties":{"a":{"type":"integer"}}}},
          "type":"object","allOf":[{"$ref":"#/$defs/base"}],
          "properties":{"b":{}},"unevaluatedProperties":false})");
  ASSERT_NE(joined, nullptr);
  EXPECT_TRUE(Accepts(*joined, R"({"a":1,"b":2})"));
  EXPECT_FALSE(Accepts(*joined, R"({"a":1,"c":2})"));
  // What an inner schema says is of its own properties.
  const auto inner = held(
      R"({"type":"object","properties":{"b":{}},"allOf":[
          {"properties":{"a":{}},"unevaluatedProperties":false}]})");
  ASSERT_NE(inner, nullptr);
  EXPECT_TRUE(Accepts(*inner, R"({"a":1})"));
  EXPECT_FALSE(Accepts(*inner, R"({"a":1,"b":2})"));
  const auto choice = held(
      R"({"type":"object","properties":{"a":{}},"anyOf":[
          {"properties":{"b":{"type":"string"}},"required":["b"]},
          {"properties":{"c":{}},"required":["c"]}],
          "unevaluatedProperties":{"type":"null"}})");
  ASSERT_NE(choice, nullptr);
  EXPECT_TRUE(Accepts(*choice, R"({"a":1,"b":"x"})"));
  EXPECT_TRUE(Accepts(*choice, R"({"a":1,"c":2,"d":null})"));
  EXPECT_FALSE(Accepts(*choice, R"({"a":1})"));
  EXPECT_FALSE(Accepts(*choice, R"({"b":"x","d":1})"));
  EXPECT_FALSE(Accepts(*choice, R"({"b":1,"c":2})"));
  EXPECT_THAT(
      GrammarOfJsonSchema(
          R"({"type":"object","allOf":[{"anyOf":[{"properties":{"a":{}}},
              {"required":["b"]}],"unevaluatedProperties":false},
              {"properties":{"c":{}}}]})")
          .status(),
      IsError(absl::StatusCode::kInvalidArgument, "unevaluatedProperties"));
}

TEST(SchemaVariantsTest, ItemsThatNoSchemaLists) {
  const auto held = [](const char* schema) {
    return ConstraintOf(GrammarOfJsonSchema(schema, AnyOrder()));
  };
  const auto joined = held(
      R"({"$defs":{"pair":{"prefixItems":[{"type":"integer"},true]}},
          "type":"array","$ref":"#/$defs/pair","unevaluatedItems":false})");
  ASSERT_NE(joined, nullptr);
  EXPECT_TRUE(Accepts(*joined, R"([1,"a"])"));
  EXPECT_TRUE(Accepts(*joined, "[1]"));
  EXPECT_FALSE(Accepts(*joined, R"(["a"])"));
  EXPECT_FALSE(Accepts(*joined, "[1,2,3]"));
  const auto others = held(
      R"({"type":"array","items":[{"type":"integer"}],
          "unevaluatedItems":{"type":"null"}})");
  ASSERT_NE(others, nullptr);
  EXPECT_TRUE(Accepts(*others, "[1,null,null]"));
  EXPECT_FALSE(Accepts(*others, "[1,2]"));
  // All items are listed.
  const auto all = held(
      R"({"type":"array","allOf":[{"items":{"type":"integer"}}],
          "unevaluatedItems":false})");
  ASSERT_NE(all, nullptr);
  EXPECT_TRUE(Accepts(*all, "[1,2]"));
  EXPECT_FALSE(Accepts(*all, "[true]"));
  const auto none = held(R"({"type":"array","unevaluatedItems":false})");
  ASSERT_NE(none, nullptr);
  EXPECT_TRUE(Accepts(*none, "[]"));
  EXPECT_FALSE(Accepts(*none, "[1]"));
  const auto choice = held(
      R"({"type":"array","minItems":1,"anyOf":[
          {"prefixItems":[{"const":"a"}]},
          {"prefixItems":[{"const":"b"},{"type":"integer"}]}],
          "unevaluatedItems":{"type":"null"}})");
  ASSERT_NE(choice, nullptr);
  EXPECT_TRUE(Accepts(*choice, R"(["a",null])"));
  EXPECT_TRUE(Accepts(*choice, R"(["b",1,null])"));
  EXPECT_FALSE(Accepts(*choice, R"(["a",1])"));
  EXPECT_FALSE(Accepts(*choice, R"(["b",1,1])"));
  // Drafts differ on what "contains" says of the items that it finds.
  for (const char* const schema :
       {R"({"type":"array","contains":{"const":1},"unevaluatedItems":false})",
        R"({"type":"array","if":{"minItems":2},"then":{"items":true},
            "unevaluatedItems":false})",
        R"({"type":"array","allOf":[{"anyOf":[{"prefixItems":[true]},
            {"minItems":2}],"unevaluatedItems":false},{"maxItems":3}]})"}) {
    EXPECT_THAT(GrammarOfJsonSchema(schema).status(),
                IsError(absl::StatusCode::kInvalidArgument, "unevaluatedItems"))
        << schema;
  }
}

// Steps are judged by the decimal digits, not as doubles.
TEST(SchemaVariantsTest, MultiplesOfDecimals) {
  struct Step {
    const char* text;
    int thousandths;
  };
  for (const Step& step :
       {Step{"0.01", 10}, Step{"0.1", 100}, Step{"0.5", 500}, Step{"0.25", 250},
        Step{"1.5", 1500}, Step{"0.05", 50}, Step{"0.001", 1}, Step{"0.003", 3},
        Step{"2", 2000}, Step{"2.5", 2500}}) {
    const std::string schema =
        fmt::format(R"({{"type":"number","multipleOf":{},)", step.text);
    const auto any = ConstraintOf(
        GrammarOfJsonSchema(schema + R"("maximum":1e9})", AnyOrder()));
    const auto bounded = ConstraintOf(GrammarOfJsonSchema(
        schema + R"("minimum":-1.2,"exclusiveMaximum":7.5})", AnyOrder()));
    ASSERT_NE(any, nullptr) << step.text;
    ASSERT_NE(bounded, nullptr) << step.text;
    for (int n = -3000; n <= 30000; n += n % 50 == 0 ? 1 : 7) {
      const std::string text = json(n / 1000.0).dump();
      const bool whole = n % 1000 == 0;
      const std::string spelled = whole ? fmt::format("{}", n / 1000) : text;
      const bool multiple = n % step.thousandths == 0;
      EXPECT_EQ(Accepts(*any, spelled), multiple) << step.text << " " << text;
      EXPECT_EQ(Accepts(*bounded, spelled), multiple && n >= -1200 && n < 7500)
          << step.text << " " << text;
    }
    for (const char* wrong :
         {"-0", "-0.0", "1.", ".5", "00", "0.0001", "1e3"}) {
      EXPECT_FALSE(Accepts(*any, wrong)) << step.text << wrong;
    }
  }
  const auto cents = ConstraintOf(GrammarOfJsonSchema(
      R"({"type":"number","minimum":0,"multipleOf":0.01})"));
  ASSERT_NE(cents, nullptr);
  for (const char* right :
       {"0.07", "0.29", "1.1", "19.99", "12345.67", "0", "5.00", "5.0"}) {
    EXPECT_TRUE(Accepts(*cents, right)) << right;
  }
  const auto integers = ConstraintOf(
      GrammarOfJsonSchema(R"({"type":"integer","multipleOf":1.5})"));
  ASSERT_NE(integers, nullptr);
  EXPECT_TRUE(Accepts(*integers, "9"));
  EXPECT_FALSE(Accepts(*integers, "10"));
  const auto halves = ConstraintOf(
      GrammarOfJsonSchema(R"({"type":"integer","multipleOf":0.5})"));
  ASSERT_NE(halves, nullptr);
  EXPECT_TRUE(Accepts(*halves, "9"));
}

// As draft 4 and OpenAPI 3.0 write it.
TEST(SchemaVariantsTest, ExclusiveBoundsAsBooleans) {
  const auto above = ConstraintOf(GrammarOfJsonSchema(
      R"({"type":"number","minimum":0,"exclusiveMinimum":true,
          "maximum":2,"exclusiveMaximum":false})"));
  ASSERT_NE(above, nullptr);
  EXPECT_TRUE(Accepts(*above, "0.5"));
  EXPECT_TRUE(Accepts(*above, "2"));
  EXPECT_FALSE(Accepts(*above, "0"));
}

// A condition for each kind does not multiply with the others.
TEST(SchemaVariantsTest, ManyConditionsStaySmall) {
  json schema = {{"type", "object"},
                 {"properties", {{"kind", {{"type", "string"}}}}},
                 {"allOf", json::array()}};
  for (int i = 0; i < 20; ++i) {
    const std::string kind = fmt::format("k{}", i);
    schema["allOf"].push_back({{"if",
                                {{"properties", {{"kind", {{"const", kind}}}}},
                                 {"required", {"kind"}}}},
                               {"then", {{"required", {"of " + kind}}}}});
  }
  const auto constraint = ConstraintOf(GrammarOfJsonSchema(schema.dump()));
  ASSERT_NE(constraint, nullptr);
  EXPECT_TRUE(Accepts(*constraint, R"({"kind":"k3","of k3":1})"));
  EXPECT_FALSE(Accepts(*constraint, R"({"kind":"k3","of k4":1})"));
  EXPECT_TRUE(Accepts(*constraint, R"({"kind":"x"})"));
  // Conditions that do multiply are refused.
  json free = {{"type", "object"}, {"dependentRequired", json::object()}};
  for (int i = 0; i < 12; ++i) {
    free["dependentRequired"][fmt::format("p{}", i)] = {fmt::format("q{}", i)};
  }
  EXPECT_FALSE(GrammarOfJsonSchema(free.dump()).ok());
}

}  // namespace
}  // namespace trivium
