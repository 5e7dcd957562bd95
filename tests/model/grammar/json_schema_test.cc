#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "fmt/format.h"
#include "model/grammar/frontends.h"
#include "nlohmann/json.hpp"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kResourceExhausted;
using nlohmann::json;

absl::Status Refusal(std::string_view schema,
                     const JsonSchemaOptions& options = {}) {
  const auto grammar = GrammarOfJsonSchema(schema, options);
  if (!grammar.ok()) return grammar.status();
  return Automaton::Create(*grammar).status();
}

TEST(JsonSchemaTest, PropertiesComeAsDeclaredUnlessAsked) {
  constexpr char kSchema[] =
      R"({"type":"object","properties":{"z":{"type":"null"},"a":{"type":"null"}},
          "required":["z","a"],"additionalProperties":false})";
  const auto declared = ConstraintOf(GrammarOfJsonSchema(kSchema));
  EXPECT_TRUE(Accepts(*declared, R"({"z":null,"a":null})"));
  EXPECT_FALSE(Accepts(*declared, R"({"a":null,"z":null})"));
  JsonSchemaOptions options;
  options.any_order = true;
  const auto any = ConstraintOf(GrammarOfJsonSchema(kSchema, options));
  EXPECT_TRUE(Accepts(*any, R"({"z":null,"a":null})"));
  EXPECT_TRUE(Accepts(*any, R"({"a":null,"z":null})"));
  EXPECT_FALSE(Accepts(*any, R"({"a":null,"a":null})"));
  EXPECT_FALSE(Accepts(*any, R"({"a":null})"));
  // A required property that is not declared comes as it is required.
  const auto required = ConstraintOf(
      GrammarOfJsonSchema(R"({"type":"object","required":["z","a"]})"));
  EXPECT_TRUE(Accepts(*required, R"({"z":null,"a":null})"));
  EXPECT_FALSE(Accepts(*required, R"({"a":null,"z":null})"));
}

TEST(JsonSchemaTest, WhiteSpaceIsAsAsked) {
  const auto with = [](JsonSpace space) {
    JsonSchemaOptions options;
    options.space = space;
    return ConstraintOf(GrammarOfJsonSchema(R"({"type":"object"})", options));
  };
  constexpr char kCompact[] = R"({"a":[1,2]})", kSpaced[] = R"({"a": [1, 2]})",
                 kLoose[] = "{\n\t\"a\" :[ 1,2 ] }";
  const auto compact = with(JsonSpace::kCompact);
  EXPECT_TRUE(Accepts(*compact, kCompact));
  EXPECT_FALSE(Accepts(*compact, kSpaced));
  const auto spaced = with(JsonSpace::kSpaced);
  EXPECT_TRUE(Accepts(*spaced, kSpaced));
  EXPECT_FALSE(Accepts(*spaced, kCompact));
  const auto any = with(JsonSpace::kAny);
  EXPECT_TRUE(Accepts(*any, kCompact) && Accepts(*any, kSpaced) &&
              Accepts(*any, kLoose));
  // Brackets with nothing in them have one gap.
  for (const char* schema :
       {R"({"type":["object","array"]})", "true", R"({"enum":[{},[]]})",
        R"({"type":["object","array"],"items":{"type":"null"},
            "properties":{"a":{}}})"}) {
    const auto empty = ConstraintOf(GrammarOfJsonSchema(schema));
    for (const std::string brackets : {"{}", "[]"}) {
      for (const size_t blanks : {0, 32, 33, 64}) {
        const std::string text =
            brackets[0] + std::string(blanks, ' ') + brackets[1];
        EXPECT_EQ(Accepts(*empty, text), blanks <= 32) << schema << text;
      }
    }
  }
}

TEST(JsonSchemaTest, Formats) {
  const auto accepts = [](const std::string& format, const std::string& text) {
    const auto constraint = ConstraintOf(
        GrammarOfJsonSchema(R"({"type":"string","format":")" + format + "\"}"));
    return constraint != nullptr && Accepts(*constraint, "\"" + text + "\"");
  };
  EXPECT_TRUE(accepts("date", "2024-02-29"));
  EXPECT_TRUE(accepts("date", "2000-02-29"));
  EXPECT_FALSE(accepts("date", "1900-02-29"));
  EXPECT_FALSE(accepts("date", "2023-02-29"));
  EXPECT_FALSE(accepts("date", "2023-04-31"));
  EXPECT_FALSE(accepts("date", "0000-01-01"));
  EXPECT_TRUE(accepts("time", "23:59:59.25+02:00"));
  EXPECT_FALSE(accepts("time", "24:00:00Z"));
  EXPECT_TRUE(accepts("date-time", "2024-12-31T00:00:00Z"));
  EXPECT_FALSE(accepts("date-time", "2024-12-31"));
  EXPECT_TRUE(accepts("duration", "P1Y2M3DT4H5M6S"));
  EXPECT_TRUE(accepts("duration", "PT1S"));
  EXPECT_FALSE(accepts("duration", "P"));
  EXPECT_TRUE(accepts("email", "a.b+c@example.org"));
  EXPECT_TRUE(accepts("email", "john.q.public.jr@mail.example.org"));
  EXPECT_TRUE(accepts("email", std::string(64, 'a') + "@example.org"));
  EXPECT_FALSE(accepts("email", std::string(65, 'a') + "@example.org"));
  EXPECT_FALSE(accepts("email", "a..b@example.org"));
  EXPECT_FALSE(accepts("email", "a"));
  EXPECT_TRUE(accepts("hostname", "a-b.example"));
  for (const int size : {1, 2, 3, 4, 5, 62, 63}) {
    EXPECT_TRUE(accepts("hostname", std::string(size, 'a') + ".b")) << size;
  }
  EXPECT_FALSE(accepts("hostname", std::string(64, 'a')));
  EXPECT_TRUE(accepts("hostname", "a--b.a-b-c.abc--d"));
  EXPECT_FALSE(accepts("hostname", "xn--80ak6aa92e"));
  EXPECT_FALSE(accepts("hostname", "a.ab--c"));
  EXPECT_FALSE(accepts("hostname", "-a"));
  EXPECT_TRUE(accepts("ipv4", "255.0.10.199"));
  EXPECT_FALSE(accepts("ipv4", "256.0.0.1"));
  EXPECT_FALSE(accepts("ipv4", "01.0.0.1"));
  EXPECT_TRUE(accepts("ipv6", "2001:db8::1"));
  EXPECT_TRUE(accepts("ipv6", "::"));
  EXPECT_TRUE(accepts("ipv6", "::ffff:192.168.0.1"));
  EXPECT_TRUE(accepts("ipv6", "1:2:3:4:5:6:1.2.3.4"));
  EXPECT_FALSE(accepts("ipv6", "1:2:3:4:5:6:7:1.2.3.4"));
  EXPECT_FALSE(accepts("ipv6", "1:2:3:4:5:6::1.2.3.4"));
  EXPECT_TRUE(accepts("ipv6", "1:2:3:4:5:6:7:8"));
  EXPECT_FALSE(accepts("ipv6", "1:2:3:4:5:6:7"));
  EXPECT_FALSE(accepts("ipv6", "1::2::3"));
  EXPECT_FALSE(accepts("ipv6", "1:2:3:4:5:6:7::8"));
  EXPECT_TRUE(accepts("uuid", "123e4567-e89b-12d3-a456-426614174000"));
  EXPECT_FALSE(accepts("uuid", "123e4567"));
  EXPECT_TRUE(accepts("uri", "https://example.org:80/a?b=c#d"));
  EXPECT_TRUE(accepts("uri", "http://xn--80ak6aa92e.example"));
  EXPECT_TRUE(accepts("uri", "mailto:a@example.org"));
  EXPECT_TRUE(accepts("uri", "urn:isbn:0451450523"));
  EXPECT_FALSE(accepts("uri", "example.org"));
  EXPECT_FALSE(accepts("uri", "mailto:"));
  EXPECT_FALSE(accepts("uri", "http://a b"));
  EXPECT_TRUE(accepts("uuid4", "123e4567-e89b-42d3-a456-426614174000"));
  EXPECT_FALSE(accepts("uuid4", "123e4567-e89b-12d3-a456-426614174000"));
  EXPECT_FALSE(accepts("uuid4", "123e4567-e89b-42d3-c456-426614174000"));
  EXPECT_TRUE(accepts("base64", ""));
  EXPECT_TRUE(accepts("base64", "aGVsbG8="));
  EXPECT_TRUE(accepts("byte", "aGVsbA=="));
  EXPECT_FALSE(accepts("base64", "aGVsbG8"));
  EXPECT_TRUE(accepts("password", "any text"));
  EXPECT_TRUE(accepts("json-pointer", "/a~1b/~0/é"));
  EXPECT_TRUE(accepts("json-pointer", ""));
  EXPECT_FALSE(accepts("json-pointer", "a"));
  EXPECT_FALSE(accepts("json-pointer", "/~2"));
  EXPECT_TRUE(accepts("relative-json-pointer", "0#"));
  EXPECT_TRUE(accepts("relative-json-pointer", "12/a"));
  EXPECT_FALSE(accepts("relative-json-pointer", "01"));
  EXPECT_TRUE(accepts("uri-template", "https://a.example/{id}{?page,size*}"));
  EXPECT_FALSE(accepts("uri-template", "/{id"));
  EXPECT_TRUE(accepts("fraction", "-1/3"));
  EXPECT_FALSE(accepts("fraction", "1/0"));
  for (const char* right : {"^[a-z0-9]+(?:ab|c)*$", "a{2}.?|b", "(x[^ ]+)?", "",
                            "^https?://[A-Za-z0-9]+$"}) {
    EXPECT_TRUE(accepts("regex", right)) << right;
  }
  for (const char* wrong :
       {"(", "a)", "[", "a**", "+", "[z-a]", "a{2", "(?=a)", "(?:)*?)"}) {
    EXPECT_FALSE(accepts("regex", wrong)) << wrong;
  }
}

TEST(JsonSchemaTest, ReferencesByName) {
  // Each list holds integers and such lists.
  for (const char* schema :
       {R"({"$id":"https://a.example/list","type":"array","items":{"anyOf":[
            {"$ref":"https://a.example/list#/$defs/leaf"},
            {"$ref":"https://a.example/list"}]},
            "$defs":{"leaf":{"type":"integer"}}})",
        R"({"type":"array","items":{"anyOf":[{"$ref":"#leaf"},{"$ref":"#"}]},
            "$defs":{"50% a/b":{"$anchor":"leaf","type":"integer"}}})",
        R"({"$id":"List","type":"array","items":{"anyOf":[{"$ref":"leaf"},
            {"$ref":"List"}]},
            "$defs":{"leaf":{"$id":"leaf","$ref":"#/$defs/n",
                             "$defs":{"n":{"type":"integer"}}}}})",
        R"({"$ref":"#/$defs/list","$defs":{"list":{"$id":"l","type":"array",
            "items":{"anyOf":[{"type":"integer"},{"$ref":"#"}]}}}})",
        R"({"$dynamicAnchor":"node","type":"array","items":{"anyOf":[
            {"type":"integer"},{"$dynamicRef":"#node"}]}})",
        R"({"$recursiveAnchor":true,"type":"array","items":{"anyOf":[
            {"type":"integer"},{"$recursiveRef":"#"}]}})",
        R"({"$schema":"http://json-schema.org/draft-04/schema#","id":"List",
            "type":"array","items":{"anyOf":[{"$ref":"#leaf"},
            {"$ref":"List"}]},
            "definitions":{"a":{"id":"#leaf","type":"integer"}}})"}) {
    const auto constraint = ConstraintOf(GrammarOfJsonSchema(schema));
    ASSERT_NE(constraint, nullptr) << schema;
    EXPECT_TRUE(Accepts(*constraint, "[1,[2,[]]]")) << schema;
    EXPECT_FALSE(Accepts(*constraint, "[true]")) << schema;
    EXPECT_FALSE(Accepts(*constraint, "[[\"a\"]]")) << schema;
    EXPECT_FALSE(Accepts(*constraint, "1")) << schema;
  }
  // What looks like a name in a value is none.
  const auto value = ConstraintOf(
      GrammarOfJsonSchema(R"({"const":{"$id":"a","$ref":"a"},"$anchor":"b"})"));
  ASSERT_NE(value, nullptr);
  EXPECT_TRUE(Accepts(*value, R"({"$id":"a","$ref":"a"})"));
}

TEST(JsonSchemaTest, FormatsTellTextsApart) {
  const auto choice = ConstraintOf(GrammarOfJsonSchema(
      R"({"oneOf":[{"type":"string","format":"date"},
                   {"type":"string","format":"date-time"},
                   {"type":"string","pattern":"^now|^day$"}]})"));
  ASSERT_NE(choice, nullptr);
  EXPECT_TRUE(Accepts(*choice, R"("2024-02-29")"));
  EXPECT_TRUE(Accepts(*choice, R"("2024-02-29T12:00:00Z")"));
  EXPECT_TRUE(Accepts(*choice, R"("nowhere")"));
  EXPECT_FALSE(Accepts(*choice, R"("2023-02-29")"));
  // Beside an enum, a format leaves the values that have it.
  const auto listed = ConstraintOf(GrammarOfJsonSchema(
      R"({"enum":["2024-02-29","2023-02-29",1],"format":"date"})"));
  ASSERT_NE(listed, nullptr);
  EXPECT_TRUE(Accepts(*listed, R"("2024-02-29")"));
  EXPECT_TRUE(Accepts(*listed, "1"));
  EXPECT_FALSE(Accepts(*listed, R"("2023-02-29")"));
}

TEST(JsonSchemaTest, ChoicesInAChoice) {
  // A discriminated union of pydantic within another one.
  const auto constraint = ConstraintOf(GrammarOfJsonSchema(
      R"({"$defs":{
            "A":{"properties":{"k":{"const":"a"}},"required":["k"]},
            "B":{"properties":{"k":{"const":"b"}},"required":["k"]},
            "C":{"properties":{"k":{"enum":["c","d"]}},"required":["k"]}},
          "type":"object",
          "oneOf":[{"type":"object","oneOf":[{"$ref":"#/$defs/A"},
                             {"$ref":"#/$defs/B"}],
                    "discriminator":{"propertyName":"k"}},
                   {"$ref":"#/$defs/C"}]})"));
  ASSERT_NE(constraint, nullptr);
  for (const char* right : {"a", "b", "c", "d"}) {
    EXPECT_TRUE(Accepts(*constraint, fmt::format(R"({{"k":"{}"}})", right)));
  }
  EXPECT_FALSE(Accepts(*constraint, R"({"k":"e"})"));
}

TEST(JsonSchemaTest, RefusalsNameTheKeyword) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"object","properties":{"a":{"not":{"format":"date"}}}})",
       "#/properties/a/not"},
      {R"({"unevaluatedItems":7})", "#/unevaluatedItems"},
      {R"({"divisibleBy":2})", "#/divisibleBy"},
      {R"({"if":7})", "#/if"},
      {R"({"type":"string","maxlength":3})", "#/maxlength"},
      {R"({"type":"object","requierd":["a"]})", "#/requierd"},
      {R"({"if":{"format":"date"},"then":{"minLength":1}})", "#/if"},
      {R"({"dependentRequired":{"a":"b"}})", "#/dependentRequired/a"},
      {R"({"minItems":100,"contains":{},"minContains":99})", "#/contains"},
      {R"({"contains":{},"uniqueItems":true})", "#/contains"},
      {R"({"allOf":[{"contains":{"const":1}},{"contains":{"const":2}}]})",
       "#/allOf/1/contains"},
      {R"({"type":"string","frmat":"date"})", "#/frmat"},
      {R"({"type":"string","format":"colour"})", "#/format"},
      {R"j({"type":"string","pattern":"(a)\\1"})j", "#/pattern"},
      {R"j({"type":"string","pattern":"a(?>b)"})j", "#/pattern"},
      {R"({"type":"string","minLength":-1})", "#/minLength"},
      {R"({"type":"string","minLength":3,"maxLength":2})", "#/maxLength"},
      {R"({"type":"strin"})", "#/type"},
      {R"({"type":"array","uniqueItems":true})", "#/uniqueItems"},
      {R"({"type":"array","prefixItems":[{}],"items":[{}]})", "#/items"},
      {R"({"allOf":[{"items":[{}]},{"items":{}}]})", "#/allOf/1/items"},
      {R"({"allOf":[{"items":[{}]},{"additionalItems":false}]})",
       "#/allOf/0/items"},
      {R"({"propertyNames":{"anyOf":[{}]},"type":"object"})",
       "#/propertyNames/anyOf"},
      {R"({"propertyNames":{"enum":["a"],"format":"dat"},"type":"object"})",
       "#/propertyNames/format"},
      {R"({"propertyNames":{"not":{"format":"date"}},"type":"object"})",
       "#/propertyNames/not"},
      {R"({"propertyNames":{"maxLength":2},"type":"object",
           "required":["abc"]})",
       "#/propertyNames"},
      {R"({"oneOf":[{}],"discriminator":"kind"})", "#/discriminator"},
      {R"({"oneOf":[{"type":"object"},{"type":"object"}],
           "discriminator":{"propertyName":"kind"}})",
       "#/oneOf"},
      {R"({"type":"number","multipleOf":1e-16})", "#/multipleOf"},
      {R"({"type":"integer","multipleOf":1001})", "#/multipleOf"},
      {R"({"type":"object","minProperties":2})", "#/minProperties"},
      {R"({"oneOf":[{"type":"string","format":"date"},{"type":"string"}]})",
       "#/oneOf"},
      {R"({"$ref":"#/$defs/x"})", "#/$ref"},
      {R"({"\u0001variants":[{"type":"string"}]})", "#"},
      {R"({"properties":{"a":{"\u0002patterns of allOf":["b"]}}})", "#"},
      {R"({"$ref":"http://example.org/s"})", "#/$ref"},
      {R"({"allOf":[{"format":"date"},{"format":"time"}]})",
       "#/allOf/1/format"},
      {R"({"properties":{"a/b":{"then":1}}})", "#/properties/a~1b/then"},
      {R"({"enum":["abc"],"maxLength":2})", "#: no listed value"},
      {R"({"enum":[["abc"]],"maxItems":2})", "#/maxItems"},
      {R"({"properties":{"a":{"allOf":[{"not":{"format":"date"}}]}}})",
       "joined at #/properties/a)"},
      {R"({"type":"object","anyOf":[{"not":{"format":"date"}}]})",
       "joined at #/anyOf/0)"},
      {R"({"items":7})", "#/items"},
      {R"({"properties":{"a":{"id":"x","items":{"$ref":"#"}}}})",
       "#/properties/a/id"},
      {R"({"properties":{"a":{"$ref":"#x"},"b":{"$anchor":"x"},
                         "c":{"$anchor":"x"}}})",
       "#/properties/a/$ref"},
      {R"({"properties":{"a":{"$ref":"https://a.example/b"}}})",
       "#/properties/a/$ref"},
      {R"({"$defs":{"b":{"$dynamicAnchor":"x"},"c":{"$dynamicAnchor":"x"}},
           "properties":{"a":{"$dynamicRef":"#x"}}})",
       "#/properties/a/$dynamicRef"},
      {R"({"properties":{"a":{"$id":"b","$recursiveRef":"#"}}})",
       "#/properties/a/$recursiveRef"},
      {R"({"$id":"x","allOf":[{"id":"y","items":{"$ref":"#"}}]})",
       "#/allOf/0/id"},
      {R"({"type":"number","exclusiveMinimum":true})", "#/exclusiveMinimum"},
      {R"({"type":"number","exclusiveMaximum":false})", "#/exclusiveMaximum"},
      {R"({"type":"number","minimum":1e308})", "#"},
      {R"({"type":"integer","minimum":1e308})", "#/minimum"},
      {R"({"oneOf":[{"const":{"a":1,"b":2}},{"const":{"b":2,"a":1}}]})",
       "#/oneOf"},
      // Keywords that concern no value that may come are well-formed, too.
      {R"({"properties":{"a":{"type":"string","required":true}}})",
       "#/properties/a/required"},
      {R"({"type":"integer","minLength":"1"})", "#/minLength"},
      {R"({"type":"null","properties":[]})", "#/properties"},
      {R"({"type":"null","prefixItems":[1]})", "#/prefixItems"},
      {R"({"type":"null","items":[{}]})", "#/items"},
      {R"({"type":"null","maximum":"2"})", "#/maximum"},
      {R"({"type":"null","pattern":2})", "#/pattern"},
      {R"({"type":"null","uniqueItems":1})", "#/uniqueItems"},
      // So are those of conditions.
      {R"({"type":"object","not":{"requierd":["a"]}})", "#/not/requierd"},
      {R"({"type":"object","not":{"required":"a"}})", "#/not/required"},
      {R"({"type":"string","not":{"minLength":"x"}})", "#/not/minLength"},
      {R"({"type":"string","not":{"enum":"a"}})", "#/not/enum"},
      {R"j({"type":"string","not":{"pattern":"("}})j",
       "the pattern (, which must not match"},
      {R"({"type":"object","if":{"properties":{"a":{"format":"date"}}},
           "then":{"required":["b"]}})",
       "#/if/properties/a: asks for"},
      {R"({"type":"object","dependentSchemas":{"a":["b"]}})",
       "#/dependentSchemas/a"},
      {R"({"type":"null","allOf":[{"pattern":"a"},{"pattern":6}]})",
       "#/allOf/1/pattern"},
      // The keyword is found where the schemas that are joined have it.
      {R"({"$defs":{"a b":{"not":{"format":"date"}}},"anyOf":[{"$ref":"#/$defs/a%20b"}]})",
       "#/$defs/a%20b/not"},
      {R"({"anyOf":[{"type":"object"}],"properties":{"x":{"not":{"format":"date"}}}})",
       "#/properties/x/not"},
      {R"({"allOf":[{"properties":{"a":{"minLength":1}}},
                    {"properties":{"a":{"extends":{}}}}]})",
       "#/allOf/1/properties/a/extends"},
      {R"({"oneOf":[{"properties":{"a":{"type":"x"}},"required":["a"],
                     "type":"object","maxProperties":0},
                    {"type":"object","properties":{"a":{"type":"null"}},
                     "required":["a"]}]})",
       "#/oneOf/0/"},
      {R"({"type":"object","required":["a"],
           "additionalProperties":{"extends":{}}})",
       "#/additionalProperties/extends"},
      {R"({"type":"string",)", "#"},
      {"7", "#"},
  };
  for (const auto& [schema, place] : cases) {
    EXPECT_THAT(Refusal(schema), IsError(kInvalidArgument, place)) << schema;
  }
  // A keyword that concerns no value that may come is no obstacle.
  EXPECT_TRUE(Refusal(R"({"type":"string","uniqueItems":true})").ok());
  EXPECT_TRUE(Refusal(R"({"type":"string","divisibleBy":2})").ok());
  EXPECT_TRUE(Refusal(R"({"then":{"type":"null"},"else":false})").ok());
  // Keywords that no specification has are annotations, and so are names of
  // schemas without references in them.
  EXPECT_TRUE(Refusal(R"({"type":"string","enumNames":["a"],"nullable":true,
                          "$id":"#/properties/a","id":"b"})")
                  .ok());
  // The whole schema may have a name, also where it is joined.
  EXPECT_TRUE(Refusal(R"({"$id":"x","type":"object","properties":{"id":
                          {"$ref":"#"}},"anyOf":[{"minProperties":1}]})")
                  .ok());
}

// A schema that is joined with itself has more paths than can be looked at.
TEST(JsonSchemaTest, TheSearchForAPlaceEnds) {
  const std::string again = R"({"$ref":"#/$defs/a"})";
  std::string members = R"("anyOf":[)" + again + "," + again + "]";
  for (int i = 0; i < 8000; ++i)
    members += ",\"x-" + std::to_string(i) + "\":0";
  const std::string schema =
      R"({"anyOf":[{"properties":{"a: b: c: d: e: f":{"not":{"format":"date"}}}},)" +
      again + R"(],"$defs":{"a":{)" + members + "}}}";
  EXPECT_EQ(Refusal(schema).code(), kInvalidArgument);
}

TEST(JsonSchemaTest, WhatNothingMatchesIsRefused) {
  EXPECT_THAT(Refusal("false"), IsError(kInvalidArgument, "#: no text"));
  EXPECT_EQ(Refusal(R"({"$ref":"#"})").code(), kInvalidArgument);
  EXPECT_EQ(Refusal(R"({"type":"integer","minimum":3,"maximum":2})").code(),
            kInvalidArgument);
  // An object that must contain itself.
  EXPECT_EQ(Refusal(R"({"type":"object","properties":{"a":{"$ref":"#"}},
                        "required":["a"]})")
                .code(),
            kInvalidArgument);
}

TEST(JsonSchemaTest, BombsAreHeldOrRefused) {
  // Counts cost nothing.
  EXPECT_TRUE(Refusal(R"({"type":"string","maxLength":1000000000})").ok());
  EXPECT_TRUE(Refusal(R"({"type":"array","minItems":100000})").ok());
  // A chain of many references is followed without recursion.
  json chain = {{"$ref", "#/$defs/0"}, {"$defs", json::object()}};
  for (int i = 0; i < 1500; ++i) {
    chain["$defs"][std::to_string(i)] = {
        {"type", "array"},
        {"items", {{"$ref", "#/$defs/" + std::to_string((i + 1) % 1500)}}}};
  }
  EXPECT_TRUE(Refusal(chain.dump()).ok());
  // Joins that double at every step.
  json doubled = {{"$ref", "#/$defs/0"}, {"$defs", json::object()}};
  for (int i = 0; i < 60; ++i) {
    const json next = {{"$ref", "#/$defs/" + std::to_string(i + 1)}};
    doubled["$defs"][std::to_string(i)] = {
        {"minLength", 1}, {"anyOf", json::array({next, next})}};
  }
  doubled["$defs"]["60"] = {{"type", "string"}};
  EXPECT_FALSE(Refusal(doubled.dump()).ok());
  // Recursive schemas that nothing tells apart.
  json alike = {{"oneOf", json::array({{{"$ref", "#/$defs/a"}},
                                       {{"$ref", "#/$defs/b"}}})}};
  for (const char* name : {"a", "b"}) {
    json& schema = alike["$defs"][name];
    schema = {{"type", "object"}, {"required", {"p", "q", "r"}}};
    for (const char* property : {"p", "q", "r"}) {
      schema["properties"][property] = {
          {"$ref", std::string("#/$defs/") + name}};
    }
  }
  EXPECT_FALSE(Refusal(alike.dump()).ok());
  // Automata that explode.
  EXPECT_EQ(Refusal(R"({"type":"string","pattern":"(a|b)*a(a|b){30}",
                        "maxLength":90})")
                .code(),
            kResourceExhausted);
  EXPECT_EQ(Refusal(R"({"type":"string","pattern":"(((a{99}){99}){99}){99}",
                        "maxLength":9})")
                .code(),
            kResourceExhausted);
  EXPECT_FALSE(Refusal("{\"a\":\"" + std::string(200'000, 'a') + "\"}").ok());
  EXPECT_EQ(Refusal(std::string(100, '[') + std::string(100, ']')).code(),
            kInvalidArgument);
  json wide = {{"type", "object"}, {"properties", json::object()}};
  for (int i = 0; i < 500; ++i) {
    wide["properties"]["property " + std::to_string(i)] = true;
  }
  GrammarLimits limits;
  limits.edges = 100'000;
  const auto grammar = GrammarOfJsonSchema(wide.dump(), {}, limits);
  ASSERT_TRUE(grammar.ok()) << grammar.status();
  EXPECT_EQ(Automaton::Create(*grammar).status().code(), kResourceExhausted);
}

TEST(JsonSchemaTest, ForcedTextIsWrittenWithoutAModel) {
  JsonSchemaOptions options;
  options.space = JsonSpace::kCompact;
  const auto constraint = ConstraintOf(GrammarOfJsonSchema(
      R"({"type":"object","properties":{"answer":{"enum":["yes","no"]}},
          "required":["answer"],"additionalProperties":false})",
      options));
  ConstraintMatcher matcher(constraint);
  EXPECT_EQ(matcher.Forced(matcher.Start()), R"({"answer":")");
}

TEST(JsonSchemaTest, JsonObjects) {
  const auto constraint = ConstraintOf(GrammarOfJsonObject());
  EXPECT_TRUE(Accepts(*constraint, R"({"a":[1e5,{"b":null}],"":"\u0041"})"));
  EXPECT_FALSE(Accepts(*constraint, "[]"));
  EXPECT_FALSE(Accepts(*constraint, R"({"a":"
"})"));
}

}  // namespace
}  // namespace trivium
