#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "model/grammar/frontends.h"
#include "nlohmann/json.hpp"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/model/grammar/json_validator.h"
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

struct SchemaCase {
  const char* schema;
  std::vector<const char*> valid;
  std::vector<const char*> invalid;
};

// The values are spelled as the engine may spell them.
std::vector<SchemaCase> SchemaCases() {
  return {
      {R"({"type":"object","properties":{"name":{"type":"string"},
           "age":{"type":"integer"}},"required":["name","age"],
           "additionalProperties":false})",
       {R"({"name":"a\"b","age":-3})", R"({ "name" : "é" ,"age" :0})"},
       {R"({"name":"a"})", R"({"name":"a","age":1.5})", R"({"name":1,"age":1})",
        R"({"name":"a","age":1,"b":2})", R"([])", R"({"name":"a","age":01})"}},
      {R"({"type":"object","properties":{"a":{"type":"null"},
           "b":{"type":"boolean"},"c":{}},"required":["b"],
           "additionalProperties":false})",
       {R"({"b":true})", R"({"a":null,"b":false})", R"({"b":true,"c":[{}]})"},
       {R"({})", R"({"a":null})", R"({"a":null,})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"}}})",
       {R"({})", R"({"a":1})", R"({"a":1,"b":"x"})", R"({"ab":"x"})",
        R"({"":"x"})"},
       {R"({"a":"x"})", R"({"a":1,"b"})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"}},
           "additionalProperties":{"type":"string"}})",
       {R"({"a":1,"b":"x"})", R"({"b":"x","c":"y"})"},
       {R"({"a":1,"b":2})", R"({"a":"x"})"}},
      {R"({"type":"object","patternProperties":{"^x[0-9]+$":{"type":"integer"},
           "^y":{"type":"string"}},"additionalProperties":false})",
       {R"({"x1":1,"yy":"a"})", R"({})"},
       {R"({"x":1})", R"({"x1":"a"})", R"({"z":1})", R"({"y":1})"}},
      {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},
           "additionalProperties":false,"minProperties":2})",
       {R"({"a":1,"c":2})", R"({"a":1,"b":2,"c":3})"},
       {R"({})", R"({"b":1})", R"({"c":1,"a":2})"}},
      {R"({"type":"object","maxProperties":0})", {"{}"}, {R"({"a":1})"}},
      {R"({"type":"object","minProperties":1})", {R"({"a":1})"}, {"{}"}},
      {R"({"type":"object","required":["q"],"minProperties":1,
           "maxProperties":2})",
       {R"({"q":1})", R"({"q":1,"r":2})"},
       {R"({"r":2})", R"({"q":1,"r":2,"s":3})"}},
      {R"({"$defs":{"node":{"type":"object","properties":{"v":
           {"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},
           {"type":"null"}]}},"required":["v","next"],
           "additionalProperties":false}},"$ref":"#/$defs/node"})",
       {R"({"v":1,"next":{"v":2,"next":null}})", R"({"v":1,"next":null})"},
       {R"({"v":1,"next":{}})", R"({"v":1})"}},
      {R"({"type":"array","items":{"type":"integer"},"minItems":2,
           "maxItems":3})",
       {"[1,2]", "[1, 2,3]"},
       {"[]", "[1]", "[1,2,3,4]", "[1,\"a\"]"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"},
           {"type":"string"}],"items":{"type":"null"}})",
       {"[]", "[1]", "[1,\"a\"]", "[1,\"a\",null,null]"},
       {"[\"a\"]", "[1,\"a\",2]", "[1,null]"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"}],"items":false,
           "minItems":1})",
       {"[1]"},
       {"[]", "[1,2]"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("äöü")", R"("\u00e4\n")", R"("\ud83d\ude00x")"},
       {R"("a")", R"("abcd")", R"("\n")", R"("\ud83dab")"}},
      {R"({"type":"string","pattern":"^[a-z]+[0-9]{2}$"})",
       {R"("ab12")"},
       {R"("ab1")", R"("12")", R"("ab123")"}},
      {R"({"type":"string","pattern":"b","maxLength":3})",
       {R"("abc")", R"("b")"},
       {R"("ac")", R"("abcd")"}},
      {R"({"type":"integer","minimum":-5,"exclusiveMaximum":120})",
       {"-5", "0", "7", "119", "100"},
       {"-6", "120", "1.0", "-0", "1000"}},
      {R"({"type":"integer","minimum":10,"multipleOf":7})",
       {"14", "21", "700"},
       {"7", "15", "0"}},
      {R"({"type":"number","minimum":0.5,"maximum":2.25})",
       {"0.5", "0.50", "1", "2.25", "2.1", "0.51"},
       {"0.4", "0", "2.26", "2.3", "3", "-1", "2.250001"}},
      {R"({"type":"number","exclusiveMinimum":-1.5,"exclusiveMaximum":0})",
       {"-1.4", "-0.001", "-1"},
       {"-1.5", "0", "-0", "-2", "1", "-0.0"}},
      {R"({"type":"number","minimum":0})",
       {"1700000000.5", "0.0000001", "123456789012345", "0.123456789012345",
        "12345678901234.5", "0", "0.0"},
       {"-1", "1234567890123456", "0.1234567890123456", "12345678901234.56",
        "00", "1.", ".5"}},
      {R"({"type":"number","minimum":-1e308,"maximum":1e308})",
       {"-5", "5.25", "0", "-999999999999999"},
       {"-0", "5."}},
      {R"({"type":"number","exclusiveMinimum":5e-324})",
       {"0.000000000000001", "2"},
       {"0", "0.0", "-1"}},
      {R"({"type":"number","maximum":5e-324})",
       {"0", "0.0", "-0.000000000000001"},
       {"0.000000000000001", "1"}},
      {R"({"type":"number","minimum":-5e-324,"maximum":1})",
       {"0", "0.5"},
       {"-0.000000000000001", "-1"}},
      {R"({"type":"integer","multipleOf":1000})",
       {"0", "3000", "-999999999999000"},
       {"10", "-1500", "1000000000000000"}},
      {R"({"type":"integer","multipleOf":997,"minimum":0})",
       {"0", "997", "997000000"},
       {"1", "-997"}},
      {R"({"enum":["a",1,null,{"k":[1,2]}]})",
       {R"("a")", "1", "null", R"({"k":[1,2]})", R"({ "k": [1, 2] })"},
       {R"("b")", "2", R"({"k":[1]})"}},
      {R"({"const":{"a":1,"b":2},"enum":[{"b":2,"a":1}]})",
       {R"({"a":1,"b":2})"},
       {R"({"b":2})"}},
      {R"({"allOf":[{"enum":[{"a":1,"b":2},3]},{"enum":[{"b":2,"a":1},4]}]})",
       {R"({"a":1,"b":2})"},
       {"3", "4"}},
      {R"({"const":"x\"\n"})", {R"("x\"\n")"}, {R"("x")"}},
      {R"({"oneOf":[{"type":"object","properties":{"t":{"const":"a"},
           "v":{"type":"integer"}},"required":["t","v"]},
           {"type":"object","properties":{"t":{"const":"b"}},
           "required":["t"],"additionalProperties":false}]})",
       {R"({"t":"a","v":1})", R"({"t":"b"})"},
       {R"({"t":"a"})", R"({"t":"b","v":1})", R"({"t":"c"})"}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer",
           "minimum":1}},"required":["a"]},{"properties":{"a":{"maximum":3},
           "b":{"type":"string"}},"required":["b"],
           "additionalProperties":false}]})",
       {R"({"a":2,"b":"x"})"},
       {R"({"a":4,"b":"x"})", R"({"a":0,"b":"x"})", R"({"a":2})",
        R"({"a":2,"b":"x","c":1})"}},
      {R"({"type":["string","null"]})", {R"("a")", "null"}, {"1", "true"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},
           "b":{"type":"integer"}},"anyOf":[{"required":["a"]},
           {"required":["b"]}],"additionalProperties":false})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
       {R"({})"}},
      {"true", {"1", "[]", R"({"a":{}})"}, {"", "[", "x"}},
      // Lists as they were written until 2019.
      {R"({"type":"array","items":[{"type":"string"},{"type":"integer"}],
           "minItems":2,"maxItems":2})",
       {R"(["a",1])"},
       {R"(["a"])", R"([1,"a"])", R"(["a",1,2])"}},
      {R"({"type":"array","items":[{"type":"string"}],
           "additionalItems":{"type":"null"}})",
       {"[]", R"(["a"])", R"(["a",null])"},
       {"[null]", R"(["a",1])"}},
      {R"({"type":"array","items":[{}],"additionalItems":false})",
       {"[]", "[7]"},
       {"[7,8]"}},
      {R"({"type":"array","items":{"type":"null"},"additionalItems":false})",
       {"[]", "[null,null]"},
       {"[1]"}},
      // Names of any string, of a list, and of a form.
      {R"({"type":"object","propertyNames":{"type":"string"},
           "additionalProperties":{"type":"integer"}})",
       {R"({"a":1,"":2})"},
       {R"({"a":"b"})"}},
      {R"({"$defs":{"color":{"enum":["red","blue"],"type":"string"}},
           "type":"object","propertyNames":{"$ref":"#/$defs/color"},
           "additionalProperties":{"type":"integer"}})",
       {"{}", R"({"red":1})", R"({"blue":1,"red":2})"},
       {R"({"green":1})", R"({"re":1})", R"({"red":"x"})"}},
      {R"({"type":"object","propertyNames":{"pattern":"^[a-z]+$",
           "maxLength":3},"properties":{"ab":{"type":"null"},"X":{}}})",
       {R"({"ab":null})", R"({"abc":1})"},
       {R"({"ab":1})", R"({"X":1})", R"({"abcd":1})", R"({"A":1})"}},
      {R"({"type":"object","propertyNames":{"maxLength":3},
           "patternProperties":{"^x":{"type":"null"}}})",
       {R"({"xab":null,"a":1})"},
       {R"({"xabc":null})", R"({"xa":1})", R"({"abcd":1})"}},
      {R"({"type":"object","propertyNames":false})", {"{}"}, {R"({"a":1})"}},
      // A discriminator asks for the property that tells schemas apart.
      {R"({"$defs":{
             "sum":{"type":"object","properties":{"op":{"const":"sum"},
               "of":{"type":"array","items":{"oneOf":[{"$ref":"#/$defs/sum"},
                 {"$ref":"#/$defs/number"}],
                 "discriminator":{"propertyName":"op"}}}},
               "required":["of"],"additionalProperties":false},
             "number":{"type":"object","properties":{"op":{"const":"number"},
               "value":{"type":"integer"}},"required":["op","value"],
               "additionalProperties":false}},
           "oneOf":[{"$ref":"#/$defs/sum"},{"$ref":"#/$defs/number"}],
           "discriminator":{"propertyName":"op","mapping":
             {"sum":"#/$defs/sum","number":"#/$defs/number"}}})",
       {R"({"op":"number","value":1})", R"({"op":"sum","of":[]})",
        R"({"op":"sum","of":[{"op":"sum","of":[{"op":"number","value":2}]}]})"},
       {R"({"of":[]})", R"({"op":"sum"})", R"({"value":1})",
        R"({"op":"sum","of":[{"of":[]}]})"}},
      {R"({"type":"object","properties":{"pet":{"anyOf":[
             {"type":"object","properties":{"kind":{"const":"cat"}}},
             {"type":"object","properties":{"kind":{"const":"dog"}}}],
             "description":"x","discriminator":{"propertyName":"kind"}}},
           "required":["pet"],"additionalProperties":false})",
       {R"({"pet":{"kind":"cat"}})", R"({"pet":{"kind":"dog","age":3}})"},
       {R"({"pet":{}})", R"({"pet":{"age":3}})"}},
  };
}

TEST(JsonSchemaTest, HoldsWhatTheKeywordsSay) {
  for (const SchemaCase& one : SchemaCases()) {
    const auto constraint = ConstraintOf(GrammarOfJsonSchema(one.schema));
    ASSERT_NE(constraint, nullptr) << one.schema;
    const json schema = json::parse(one.schema);
    for (const char* text : one.valid) {
      EXPECT_TRUE(Accepts(*constraint, text)) << one.schema << "\n" << text;
      EXPECT_TRUE(IsValid(json::parse(text), schema, schema)) << text;
    }
    for (const char* text : one.invalid) {
      EXPECT_FALSE(Accepts(*constraint, text)) << one.schema << "\n" << text;
    }
  }
}

TEST(JsonSchemaTest, RandomTextsAreValid) {
  const auto trie = ByteVocabulary(
      {"{\"", "\":", "\",\"", "\": \"", "\"}", "},", "]}", "null", "true", "12",
       "\"a\"", ", ", "ab", "\\u00", "\xC3\xA4", "\"name\"", "[{", "1.5", "-"});
  std::mt19937_64 random(7);
  int texts = 0;
  for (const SchemaCase& one : SchemaCases()) {
    const json schema = json::parse(one.schema);
    const bool patterned =
        std::string_view(one.schema).find("attern") != std::string_view::npos;
    for (const JsonSpace space :
         {JsonSpace::kCompact, JsonSpace::kSpaced, JsonSpace::kAny}) {
      JsonSchemaOptions options;
      options.space = space;
      const auto constraint =
          ConstraintOf(GrammarOfJsonSchema(one.schema, options), trie);
      ASSERT_NE(constraint, nullptr);
      for (int i = 0; i < 8; ++i) {
        const auto text = RandomText(constraint, &random, 40);
        if (!text.has_value()) continue;  // deeply nested, cut
        ++texts;
        const json value = json::parse(*text, nullptr, false);
        ASSERT_FALSE(value.is_discarded()) << one.schema << "\n" << *text;
        // The standard library's expressions see bytes.
        if (patterned && value.dump(-1, ' ', true) != value.dump()) continue;
        EXPECT_TRUE(IsValid(value, schema, schema)) << one.schema << "\n"
                                                    << *text;
      }
    }
  }
  EXPECT_GT(texts, 300);
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
}

TEST(JsonSchemaTest, RefusalsNameTheKeyword) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"object","properties":{"a":{"not":{"const":1}}}})",
       "#/properties/a/not"},
      {R"({"if":{}})", "#/if"},
      {R"({"type":"string","frmat":"date"})", "#/frmat"},
      {R"({"type":"string","format":"color"})", "#/format"},
      {R"j({"type":"string","pattern":"(?=a)"})j", "#/pattern"},
      {R"({"type":"string","pattern":"a\\b"})", "#/pattern"},
      {R"({"type":"string","minLength":-1})", "#/minLength"},
      {R"({"type":"string","minLength":3,"maxLength":2})", "#/maxLength"},
      {R"({"type":"strin"})", "#/type"},
      {R"({"type":"array","uniqueItems":true})", "#/uniqueItems"},
      {R"({"type":"array","contains":{}})", "#/contains"},
      {R"({"type":"array","prefixItems":[{}],"items":[{}]})", "#/items"},
      {R"({"allOf":[{"items":[{}]},{"items":{}}]})", "#/allOf/1/items"},
      {R"({"allOf":[{"items":[{}]},{"additionalItems":false}]})",
       "#/allOf/0/items"},
      {R"({"propertyNames":{"anyOf":[{}]},"type":"object"})",
       "#/propertyNames/anyOf"},
      {R"({"propertyNames":{"enum":["a"],"maxLength":2},"type":"object"})",
       "#/propertyNames/maxLength"},
      {R"({"propertyNames":{"not":{"const":1}},"type":"object"})",
       "#/propertyNames/not"},
      {R"({"propertyNames":{"maxLength":2},"type":"object",
           "required":["abc"]})",
       "#/propertyNames"},
      {R"({"oneOf":[{}],"discriminator":"kind"})", "#/discriminator"},
      {R"({"oneOf":[{"type":"object"},{"type":"object"}],
           "discriminator":{"propertyName":"kind"}})",
       "#/oneOf"},
      {R"({"type":"number","multipleOf":0.01})", "#/multipleOf"},
      {R"({"type":"integer","multipleOf":1001})", "#/multipleOf"},
      {R"({"type":"object","minProperties":2})", "#/minProperties"},
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "#/oneOf"},
      {R"({"$ref":"#/$defs/x"})", "#/$ref"},
      {R"({"$ref":"http://example.org/s"})", "#/$ref"},
      {R"({"allOf":[{"format":"date"},{"format":"time"}]})",
       "#/allOf/1/format"},
      {R"({"properties":{"a/b":{"then":1}}})", "#/properties/a~1b/then"},
      {R"({"enum":["abc"],"maxLength":2})", "#/maxLength"},
      {R"({"properties":{"a":{"allOf":[{"not":{"const":1}}]}}})",
       "joined at #/properties/a)"},
      {R"({"type":"object","anyOf":[{"not":{"const":1}}]})",
       "joined at #/anyOf/0)"},
      {R"({"items":7})", "#/items"},
      {R"({"properties":{"a":{"$id":"x","type":"null"}}})",
       "#/properties/a/$id"},
      {R"({"$id":"x","allOf":[{"id":"y","type":"null"}]})", "#/allOf/0/id"},
      {R"({"type":"number","minimum":3,"exclusiveMinimum":true})",
       "#/exclusiveMinimum"},
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
      // The keyword is found where the schemas that are joined have it.
      {R"({"$defs":{"a b":{"not":{"const":1}}},"anyOf":[{"$ref":"#/$defs/a%20b"}]})",
       "#/$defs/a%20b/not"},
      {R"({"anyOf":[{"type":"object"}],"properties":{"x":{"not":{"const":1}}}})",
       "#/properties/x/not"},
      {R"({"allOf":[{"properties":{"a":{"minLength":1}}},
                    {"properties":{"a":{"contains":{}}}}]})",
       "#/allOf/1/properties/a/contains"},
      {R"({"oneOf":[{"properties":{"a":{"type":"x"}},"required":["a"],
                     "type":"object","maxProperties":0},
                    {"type":"object","properties":{"a":{"type":"null"}},
                     "required":["a"]}]})",
       "#/oneOf/0/"},
      {R"({"type":"object","required":["a"],
           "additionalProperties":{"if":{}}})",
       "#/additionalProperties/if"},
      {R"({"type":"string",)", "#"},
      {"7", "#"},
  };
  for (const auto& [schema, place] : cases) {
    EXPECT_THAT(Refusal(schema), IsError(kInvalidArgument, place)) << schema;
  }
  // A keyword that concerns no value that may come is no obstacle.
  EXPECT_TRUE(Refusal(R"({"type":"string","uniqueItems":true})").ok());
  EXPECT_TRUE(Refusal(R"({"type":"string","contains":{}})").ok());
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
      R"({"anyOf":[{"properties":{"a: b: c: d: e: f":{"not":{"const":1}}}},)" +
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
