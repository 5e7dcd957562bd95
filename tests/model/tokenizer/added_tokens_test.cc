#include "model/tokenizer/added_tokens.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/unigram_model.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

// Returns the pre-tokens of a text, with tokens in brackets.
std::vector<std::string> Cut(const std::vector<AddedToken>& tokens,
                             const std::string& text,
                             const Normalizer* normalizer = nullptr) {
  const auto model = UnigramModel::Create({{"a", 0.0}}, {}).value();
  const AddedTokens added(tokens, *model, normalizer);
  const PreTokenizedText pre_tokenized = added.Extract(text, normalizer);
  std::vector<std::string> parts;
  for (const auto& pre_token : pre_tokenized.pre_tokens) {
    std::string part(pre_token.view(pre_tokenized.text));
    if (pre_token.token >= 0) part = fmt::format("[{}]", part);
    parts.push_back(std::move(part));
  }
  return parts;
}

TEST(AddedTokensTest, FindsTheLeftmostThenTheLongest) {
  EXPECT_THAT(Cut({{.content = "ab"}, {.content = "abcd"}, {.content = "bc"}},
                  "xabcabcdbc"),
              ElementsAre("x", "[ab]", "c", "[abcd]", "[bc]"));
  EXPECT_THAT(Cut({{.content = "<a>"}, {.content = ""}}, "<<a>>"),
              ElementsAre("<", "[<a>]", ">"));
  EXPECT_TRUE(Cut({{.content = "<a>"}}, "").empty());
}

TEST(AddedTokensTest, IncludesTheSpacesAround) {
  EXPECT_THAT(Cut({{.content = "<a>", .left_strip = true}}, "x \xC2\xA0<a> y"),
              ElementsAre("x", "[ \xC2\xA0<a>]", " y"));
  EXPECT_THAT(Cut({{.content = "<a>", .right_strip = true}}, "x <a> \n"),
              ElementsAre("x ", "[<a> \n]"));
  // A space goes to the first token that strips it.
  EXPECT_THAT(Cut({{.content = "<a>", .left_strip = true, .right_strip = true}},
                  "<a>  <a>"),
              ElementsAre("[<a>  ]", "[<a>]"));
}

TEST(AddedTokensTest, FindsSingleWordsOnly) {
  const std::vector<AddedToken> tokens = {
      {.content = "cat", .single_word = true}};
  EXPECT_THAT(Cut(tokens,
                  "cat cats scat cat_ \xC3\xA9"
                  "cat cat"),
              ElementsAre("[cat]",
                          " cats scat cat_ \xC3\xA9"
                          "cat ",
                          "[cat]"));
  EXPECT_THAT(Cut(tokens, "(cat)"), ElementsAre("(", "[cat]", ")"));
}

TEST(AddedTokensTest, FindsNormalizedTokensInNormalizedText) {
  const auto lower = MakeLowerCase();
  EXPECT_THAT(Cut({{.content = "Day", .normalized = true}, {.content = "SUN"}},
                  "Mon DAY SUN sun", lower.get()),
              ElementsAre("mon ", "[day]", " ", "[SUN]", " sun"));
}

TEST(AddedTokensTest, NewTokensGetTheNextIds) {
  const auto model = UnigramModel::Create({{"a", 0.0}, {"b", 0.0}}, {}).value();
  const AddedTokens added(
      {{.content = "x"}, {.content = "b"}, {.content = "y"}, {.content = "x"}},
      *model, nullptr);
  EXPECT_EQ(added.IdOf("x"), 2);
  EXPECT_EQ(added.IdOf("b"), 1);
  EXPECT_EQ(added.IdOf("y"), 3);
  EXPECT_EQ(added.IdOf("a"), -1);
  EXPECT_EQ(added.size(), 4);
}

TEST(StringFinderTest, EqualsTheSlowSearch) {
  std::mt19937 random(3);
  const auto word = [&](size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += "ab"[random() % 2];
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::pair<std::string, int32_t>> strings;
    for (int i = 0; i < 5; ++i) {
      const std::string string = word(1 + random() % 5);
      // Of equal strings, any one will do here.
      if (std::none_of(strings.begin(), strings.end(),
                       [&](const auto& s) { return s.first == string; })) {
        strings.emplace_back(string, i);
      }
    }
    const std::string text = word(random() % 30);
    std::vector<std::string> expected;
    for (size_t at = 0; at < text.size();) {
      const std::pair<std::string, int32_t>* best = nullptr;
      for (const auto& string : strings) {
        if (text.compare(at, string.first.size(), string.first) == 0 &&
            (best == nullptr || string.first.size() > best->first.size())) {
          best = &string;
        }
      }
      if (best == nullptr) {
        ++at;
        continue;
      }
      expected.push_back(std::to_string(at) + "=" + best->first);
      at += best->first.size();
    }
    std::vector<std::string> found;
    for (const auto& match : StringFinder(strings).Find(text)) {
      found.push_back(std::to_string(match.begin) + "=" +
                      text.substr(match.begin, match.end - match.begin));
    }
    EXPECT_EQ(found, expected) << text;
  }
}

}  // namespace
}  // namespace trivium
