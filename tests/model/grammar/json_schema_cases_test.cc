// What each keyword of JSON Schema holds texts to.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "model/grammar/frontends.h"
#include "nlohmann/json.hpp"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/model/grammar/json_validator.h"

namespace trivium {
namespace {

using nlohmann::json;

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
      {R"({"type":"object","propertyNames":{"enum":["ab","b"],
           "not":{"pattern":"^a"},"maxLength":2}})",
       {"{}", R"({"b":1})"},
       {R"({"ab":1})"}},
      {R"({"type":"object","propertyNames":false})", {"{}"}, {R"({"a":1})"}},
      // The opposite of a type beside a list.
      {R"({"enum":[1,1.5,"a"],"not":{"type":"integer"}})",
       {"1.5", "\"a\""},
       {"1"}},
      // A value may begin like the keywords of joined schemas.
      {R"({"enum":["\u0001variants",["\u0002"]]})",
       {R"("\u0001variants")", R"(["\u0002"])"},
       {R"("variants")"}},
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

TEST(JsonSchemaCasesTest, HoldsWhatTheKeywordsSay) {
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

TEST(JsonSchemaCasesTest, RandomTextsAreValid) {
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

}  // namespace
}  // namespace trivium
