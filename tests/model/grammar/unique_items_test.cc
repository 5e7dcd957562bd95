// Arrays whose items must differ, few values or many.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "model/grammar/constraint.h"
#include "model/grammar/frontends.h"
#include "nlohmann/json.hpp"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/model/grammar/json_validator.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode::kInvalidArgument;
using nlohmann::json;

json SetOf(const json& items, int min = 0, int max = -1) {
  json schema = {{"type", "array"},
                 {"items", items},
                 {"uniqueItems", true},
                 {"minItems", min}};
  if (max >= 0) schema["maxItems"] = max;
  return schema;
}

std::shared_ptr<const Constraint> Compact(
    const json& schema,
    std::shared_ptr<const TokenTrie> trie = ByteVocabulary()) {
  JsonSchemaOptions options;
  options.space = JsonSpace::kCompact;
  return ConstraintOf(GrammarOfJsonSchema(schema.dump(), options),
                      std::move(trie));
}

bool Holds(const std::shared_ptr<const Constraint>& constraint,
           std::string_view text) {
  ConstraintMatcher matcher(constraint);
  return matcher.IsComplete(matcher.Walk(matcher.Start(), text));
}

// Tokens of parts of items, and of several items.
std::shared_ptr<const TokenTrie> VocabularyOfItems() {
  return ByteVocabulary(
      {"\",\"", "\",\"a", "a\",\"a\"", "\"a\",\"a\"", "[\"",     "[0,0", "0,0]",
       "0,1",   "1,",     ",1",        "10",          "00",      "ab",   "\"]",
       "a\"]",  "\"\"",   "\"\",\"\"", "true,true",   "null,nu", "b\"",  "-1",
       "],[",   ", ",     "\" ,"});
}

// The arrays of `values` without repetition, min .. max of them.
std::set<std::string> ArraysOf(const std::vector<std::string>& values,
                               size_t min, size_t max) {
  std::set<std::string> arrays;
  std::vector<size_t> chosen;
  const auto extend = [&](const auto& again) -> void {
    if (chosen.size() >= min && chosen.size() <= max) {
      std::string text = "[";
      for (const size_t value : chosen) {
        if (text.size() > 1) text += ',';
        text += values[value];
      }
      arrays.insert(text + "]");
    }
    if (chosen.size() >= max) return;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
      chosen.push_back(i);
      again(again);
      chosen.pop_back();
    }
  };
  extend(extend);
  return arrays;
}

TEST(UniqueItemsTest, ItemsOfFewValues) {
  const std::vector<std::pair<json, std::vector<std::string>>> kinds = {
      {{{"enum", {"a", "b", "a", "c"}}}, {"\"a\"", "\"b\"", "\"c\""}},
      {{{"type", "boolean"}}, {"true", "false"}},
      {{{"const", 1}}, {"1"}},
      {{{"type", "integer"}, {"minimum", -1}, {"maximum", 2}},
       {"-1", "0", "1", "2"}},
      {{{"enum", {1, 1.0, "1", true, nullptr}}},
       {"1", "\"1\"", "true", "null"}},
      {{{"type", "integer"}, {"enum", {1, "1", 2}}}, {"1", "2"}},
      {{{"anyOf",
         json::array({{{"type", "boolean"}}, {{"enum", {true, "x"}}}})}},
       {"true", "false", "\"x\""}},
      {{{"$ref", "#/$defs/few"}}, {"\"x\"", "\"y\""}}};
  for (const auto& [items, values] : kinds) {
    for (size_t min = 0; min <= values.size(); ++min) {
      for (size_t max = std::max<size_t>(min, 2); max <= 5; ++max) {
        const json schema = {{"type", "array"},
                             {"items", items},
                             {"uniqueItems", true},
                             {"minItems", min},
                             {"maxItems", max},
                             {"$defs", {{"few", {{"enum", {"x", "y"}}}}}}};
        const auto constraint = Compact(schema);
        ASSERT_NE(constraint, nullptr) << schema;
        const auto valid = ArraysOf(values, min, std::min(max, values.size()));
        for (const std::string& array : valid) {
          EXPECT_TRUE(Accepts(*constraint, array)) << schema << array;
        }
        std::mt19937_64 random(1);
        for (int i = 0; i < 30; ++i) {
          const auto text = RandomText(constraint, &random, 40);
          ASSERT_TRUE(text.has_value()) << schema;
          EXPECT_TRUE(valid.contains(*text)) << schema << *text;
        }
      }
    }
  }
  const auto refused = [](json items, json more) {
    json schema = {{"type", "array"}, {"items", items}, {"uniqueItems", true}};
    schema.update(more);
    return GrammarOfJsonSchema(schema.dump()).status();
  };
  const auto at = IsError(kInvalidArgument, "#/uniqueItems");
  EXPECT_THAT(refused({{"type", "boolean"}}, {{"minItems", 3}}), at);
  EXPECT_THAT(refused({{"type", "boolean"}},
                      {{"prefixItems", json::array({{{"const", 1}}})}}),
              at);
  json many = {{"enum", json::array()}};
  for (int i = 0; i < 20; ++i) many["enum"].push_back({i});
  EXPECT_THAT(refused(many, json::object()), at);
  // Few of them are few sets.
  EXPECT_TRUE(refused(many, {{"maxItems", 2}}).ok());
}

// A mask has the tokens alone with which an array of the set can begin.
TEST(UniqueItemsTest, MasksLeadToArraysOfDifferentItems) {
  const auto trie = VocabularyOfItems();
  struct Kind {
    json items;
    std::vector<std::string> values;
  };
  std::vector<std::string> listed, bounded;
  for (int i = 0; i < 12; ++i)
    listed.push_back(json(std::string(1, 'a' + i)).dump());
  for (int i = -3; i <= 12; ++i) bounded.push_back(std::to_string(i));
  json names = json::array();
  for (const std::string& text : listed) names.push_back(json::parse(text));
  const Kind kinds[] = {
      {{{"type", "string"}, {"pattern", "^a?b?$"}},
       {"\"\"", "\"a\"", "\"b\"", "\"ab\""}},
      {{{"enum", names}}, listed},
      {{{"type", "integer"}, {"minimum", -3}, {"maximum", 12}}, bounded},
      {{{"anyOf", json::array({{{"type", "string"}, {"pattern", "^[ab]$"}},
                               {{"type", "null"}},
                               {{"enum", {0, 1, "b"}}},
                               {{"type", "boolean"}}})}},
       {"\"a\"", "\"b\"", "null", "0", "1", "true", "false"}}};
  std::mt19937_64 random(5);
  for (const auto& [items, values] : kinds) {
    for (const auto& [min, max] : {std::pair(0, 3), {2, 2}, {1, 3}, {3, 9}}) {
      if (max > 3 && values.size() > 4) continue;
      const json schema = SetOf(items, min, max);
      const auto constraint = Compact(schema, trie);
      ASSERT_NE(constraint, nullptr) << schema;
      const std::set<std::string> arrays =
          ArraysOf(values, static_cast<size_t>(min), static_cast<size_t>(max));
      const auto begins = [&](const std::string& text) {
        const auto at = arrays.lower_bound(text);
        return at != arrays.end() && at->starts_with(text);
      };
      for (int i = 0; i < 15; ++i) {
        ConstraintMatcher matcher(constraint);
        ConstraintMatcher::State state = matcher.Start();
        std::string text;
        for (int step = 0; step < 60; ++step) {
          const auto mask = matcher.Mask(state);
          std::vector<int32_t> allowed;
          for (int32_t token = 0; token < static_cast<int32_t>(trie->tokens());
               ++token) {
            const bool fits = token == kEndToken
                                  ? arrays.contains(text)
                                  : begins(text + trie->bytes(token));
            ASSERT_EQ(mask->Has(token), fits)
                << schema << " " << text << " " << trie->bytes(token);
            if (fits) allowed.push_back(token);
          }
          const int32_t token = allowed[random() % allowed.size()];
          if (token == kEndToken) break;
          text += trie->bytes(token);
          state = *matcher.Advance(state, token);
        }
      }
    }
  }
}

TEST(UniqueItemsTest, AnyStringsAndIntegers) {
  const auto strings =
      ConstraintOf(GrammarOfJsonSchema(SetOf({{"type", "string"}}).dump()));
  ASSERT_NE(strings, nullptr);
  for (const char* right :
       {"[]", R"(["a"])", R"(["a", "b" ,"ab"])", R"(["","\"","\\","\\\\"])",
        R"(["é","e"])", R"(["a,b","a"])", R"(["a]","a"])"}) {
    EXPECT_TRUE(Holds(strings, right)) << right;
  }
  for (const char* wrong :
       {R"(["a","a"])", R"(["a","b","a"])", R"(["",""])", R"(["\"","\""])",
        R"(["a", "\u0061"])", R"(["a]" ,"a]"])", "[1]"}) {
    EXPECT_FALSE(Holds(strings, wrong)) << wrong;
  }
  const auto integers = ConstraintOf(
      GrammarOfJsonSchema(SetOf({{"type", "integer"}}, 1, 4).dump()));
  ASSERT_NE(integers, nullptr);
  for (const char* right : {"[1]", "[1,10,100]", "[0, -1,1]", "[12,1]"}) {
    EXPECT_TRUE(Holds(integers, right)) << right;
  }
  for (const char* wrong : {"[1,1]", "[0,0]", "[10,1,10]", "[-0,0]", "[1 ,1]",
                            "[]", "[1,2,3,4,5]"}) {
    EXPECT_FALSE(Holds(integers, wrong)) << wrong;
  }
}

TEST(UniqueItemsTest, EachArrayHasItemsOfItsOwn) {
  const json numbers = SetOf({{"type", "integer"}});
  const auto constraint =
      Compact({{"type", "object"},
               {"properties",
                {{"a", numbers},
                 {"b", {{"type", "array"}, {"items", numbers}}},
                 {"c", {{"type", "array"}, {"items", {{"type", "integer"}}}}}}},
               {"required", {"a", "b", "c"}},
               {"additionalProperties", false}});
  ASSERT_NE(constraint, nullptr);
  EXPECT_TRUE(
      Holds(constraint, R"({"a":[1,2],"b":[[1,2],[1,2],[]],"c":[1,1]})"));
  EXPECT_FALSE(Holds(constraint, R"({"a":[1,1],"b":[],"c":[]})"));
  EXPECT_FALSE(Holds(constraint, R"({"a":[],"b":[[1],[2,1,2]],"c":[]})"));
  // A choice of such an array and one of equal items has both.
  const auto choice = Compact(
      {{"anyOf", json::array({SetOf({{"type", "string"}, {"maxLength", 1}}),
                              json({{"type", "array"},
                                    {"items", {{"const", "xx"}}},
                                    {"minItems", 3}})})}});
  ASSERT_NE(choice, nullptr);
  EXPECT_TRUE(Holds(choice, R"(["x","y"])"));
  EXPECT_TRUE(Holds(choice, R"(["xx","xx","xx"])"));
  EXPECT_FALSE(Holds(choice, R"(["x","x"])"));
}

TEST(UniqueItemsTest, StatesDependOnTheItemsAlone) {
  const auto constraint = Compact(SetOf({{"type", "string"}}));
  ASSERT_NE(constraint, nullptr);
  ConstraintMatcher matcher(constraint);
  const auto at = [&](std::string_view text) {
    return matcher.Walk(matcher.Start(), text);
  };
  EXPECT_EQ(at(R"(["a","b",)"), at(R"(["b","a",)"));
  EXPECT_NE(at(R"(["a",)"), at(R"(["b",)"));
  EXPECT_EQ(at(R"(["a"])"), at(R"(["b"])"));
  EXPECT_EQ(at(R"(["a","a")"), ConstraintMatcher::State{});
}

TEST(UniqueItemsTest, RandomAnswersAreValid) {
  std::mt19937_64 random(9);
  for (const json& items :
       {json({{"type", "string"}}), json({{"type", {"integer", "null"}}}),
        json({{"type", "string"}, {"format", "date"}}),
        json({{"type", "string"}, {"minLength", 1}, {"maxLength", 2}}),
        json({{"type", "integer"}, {"minimum", 7}, {"maximum", 4000}}),
        json({{"allOf", json::array({{{"type", "string"}},
                                     {{"pattern", "^[a-c]+$"}}})}})}) {
    const json schema = {{"type", "object"},
                         {"additionalProperties", SetOf(items, 1)}};
    const auto constraint =
        ConstraintOf(GrammarOfJsonSchema(schema.dump()), VocabularyOfItems());
    ASSERT_NE(constraint, nullptr) << schema;
    for (int i = 0; i < 20; ++i) {
      const auto text = RandomText(constraint, &random, 60);
      if (!text.has_value()) continue;
      EXPECT_TRUE(IsValid(json::parse(*text), schema, schema))
          << schema << *text;
    }
  }
}

TEST(UniqueItemsTest, WhatIsRememberedIsBounded) {
  const auto grammar = GrammarOfJsonSchema(SetOf({{"type", "string"}}).dump());
  ASSERT_TRUE(grammar.ok()) << grammar.status();
  auto automaton = Automaton::Create(*grammar);
  ASSERT_TRUE(automaton.ok()) << automaton.status();
  Constraint::Limits limits;
  limits.request_bytes = 1 << 20;
  ConstraintMatcher matcher(std::make_shared<const Constraint>(
      *std::move(automaton), ByteVocabulary(), limits));
  ConstraintMatcher::State state = matcher.Walk(matcher.Start(), "[\"");
  int pieces = 0;
  for (; pieces < 10'000 && matcher.status().ok(); ++pieces) {
    state = matcher.Walk(state, std::string(100, 'a'));
  }
  EXPECT_GT(pieces, 50);
  EXPECT_EQ(matcher.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(matcher.Mask(state)->Empty());
}

TEST(UniqueItemsTest, OtherItemsAreRefused) {
  const auto refused = [](const json& items, int min = 0) {
    return GrammarOfJsonSchema(SetOf(items, min).dump()).status();
  };
  const auto at = IsError(kInvalidArgument, "#/uniqueItems");
  for (const char* items :
       {R"({})", R"({"type":"number"})", R"({"type":"object"})",
        R"({"type":["string","array"]})",
        R"({"type":"integer","multipleOf":3})",
        R"({"enum":[1,1.0,2,3,4,5,6,7,8,9,10,11]})"}) {
    EXPECT_THAT(refused(json::parse(items)), at) << items;
  }
  // Too few of them.
  EXPECT_THAT(refused({{"type", "string"}, {"pattern", "^[ab]?$"}}, 4), at);
  EXPECT_TRUE(refused({{"type", "string"}, {"pattern", "^[ab]?$"}}, 3).ok());
  EXPECT_THAT(refused({{"type", "string"}, {"maxLength", 0}}, 2), at);
}

}  // namespace
}  // namespace trivium
