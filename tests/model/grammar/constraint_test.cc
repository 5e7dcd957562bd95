#include "model/grammar/constraint.h"

#include <gmock/gmock.h>

#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "model/grammar/frontends.h"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/model/grammar/slow_grammar.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using Generator = std::mt19937_64;

// A graph whose edges read letters, perhaps with a bound.
ExpressionId RandomGraph(Generator* random, Grammar* grammar) {
  const auto draw = [random](size_t below) {
    return static_cast<int32_t>((*random)() % below);
  };
  ExpressionGraph graph;
  const size_t nodes = 1 + static_cast<size_t>(draw(5));
  for (size_t i = 0; i < nodes; ++i) {
    graph.AddNode();
    graph.final.back() = draw(3) == 0;
  }
  for (size_t i = 0; i < 2 * nodes; ++i) {
    const auto low = static_cast<uint8_t>('a' + draw(3));
    const ExpressionId letter =
        draw(4) == 0 ? grammar->Literal("ab")
                     : grammar->Bytes(low, static_cast<uint8_t>(low + draw(2)));
    graph.edges.push_back({draw(nodes), draw(nodes), letter});
  }
  const int32_t bounds[] = {-1, 0, 1, 2, 4, 7, 40};
  return grammar->Graph(std::move(graph), bounds[draw(7)]);
}

// An expression over the letters a, b, c and rules 0 .. rules - 1.
ExpressionId RandomExpression(Generator* random, int depth, size_t rules,
                              Grammar* grammar) {
  const auto draw = [random](size_t below) { return (*random)() % below; };
  const auto part = [&] {
    return RandomExpression(random, depth - 1, rules, grammar);
  };
  switch (depth <= 0 ? draw(3) : draw(9)) {
    case 0: {
      const auto low = static_cast<uint8_t>('a' + draw(3));
      return grammar->Bytes(low, static_cast<uint8_t>(low + draw(2)));
    }
    case 1: {
      std::string text;
      for (size_t i = draw(4); i > 0; --i) {
        text.push_back(static_cast<char>('a' + draw(3)));
      }
      return grammar->Literal(text);
    }
    case 2:
      return grammar->Rule(static_cast<RuleId>(draw(rules)));
    case 3:
    case 4: {
      std::vector<ExpressionId> parts;
      for (size_t i = draw(4); i > 0; --i) parts.push_back(part());
      return grammar->Sequence(std::move(parts));
    }
    case 5:
    case 6: {
      std::vector<ExpressionId> parts;
      for (size_t i = 1 + draw(3); i > 0; --i) parts.push_back(part());
      return grammar->Choice(std::move(parts));
    }
    case 7:
      return RandomGraph(random, grammar);
    default: {
      const auto min = static_cast<int32_t>(draw(3));
      // Large counts are not spelled out.
      const auto more = static_cast<int32_t>(draw(4) == 0 ? 60 : draw(3));
      return grammar->Repeat(part(), min, draw(3) == 0 ? -1 : min + more);
    }
  }
}

Grammar RandomGrammar(Generator* random) {
  Grammar grammar;
  const size_t rules = 1 + (*random)() % 4;
  for (size_t i = 0; i < rules; ++i) grammar.AddRule();
  for (size_t i = 0; i < rules; ++i) {
    grammar.Define(static_cast<RuleId>(i),
                   RandomExpression(random, 3, rules, &grammar));
  }
  return grammar;
}

std::string RandomLetters(Generator* random, size_t most) {
  std::string text;
  for (size_t i = (*random)() % (most + 1); i > 0; --i) {
    text.push_back(static_cast<char>('a' + (*random)() % 3));
  }
  return text;
}

TEST(ConstraintTest, AgreesWithTheSlowGrammar) {
  int accepted = 0, prefixes = 0, grammars = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Generator random(seed);
    const Grammar grammar = RandomGrammar(&random);
    const auto automaton = Automaton::Create(grammar);
    SlowGrammar slow(&grammar);
    if (!automaton.ok()) {
      EXPECT_FALSE(slow.IsPrefix("")) << seed << automaton.status();
      continue;
    }
    ++grammars;
    ParseStates states(&*automaton, 64 << 20);
    for (int i = 0; i < 30; ++i) {
      const std::string text = RandomLetters(&random, 8);
      const ParseStates::Id state = states.Walk(states.Start(), text);
      ASSERT_EQ(state != ParseStates::kDead, slow.IsPrefix(text))
          << "seed " << seed << ": " << text;
      ASSERT_EQ(states.IsComplete(state), slow.Accepts(text))
          << "seed " << seed << ": " << text;
      accepted += states.IsComplete(state);
      prefixes += state != ParseStates::kDead;
    }
    ASSERT_FALSE(states.exhausted());
  }
  // The comparison saw enough of both outcomes.
  EXPECT_GT(grammars, 200);
  EXPECT_GT(accepted, 500);
  EXPECT_GT(prefixes, accepted);
}

TEST(ConstraintTest, MasksAreTheTokensThatCanBeCompleted) {
  size_t allowed = 0, refused = 0;
  for (uint64_t seed = 1000; seed < 1150; ++seed) {
    Generator random(seed);
    const Grammar grammar = RandomGrammar(&random);
    auto automaton = Automaton::Create(grammar);
    if (!automaton.ok()) continue;
    std::vector<std::string> tokens = {"", "a", "b", "c", "d", ""};
    for (int i = 0; i < 25; ++i) tokens.push_back(RandomLetters(&random, 5));
    const auto trie =
        std::make_shared<TokenTrie>(tokens, std::vector<int32_t>{kEndToken});
    const auto constraint =
        std::make_shared<Constraint>(*std::move(automaton), trie);
    ConstraintMatcher matcher(constraint);
    SlowGrammar slow(&grammar);
    ConstraintMatcher::State state = matcher.Start();
    std::string text;
    for (int step = 0; step < 5; ++step) {
      const auto mask = matcher.Mask(state);
      ASSERT_TRUE(matcher.status().ok()) << matcher.status();
      ASSERT_EQ(mask->Has(kEndToken), slow.Accepts(text)) << seed << text;
      ASSERT_EQ(matcher.IsComplete(state), slow.Accepts(text));
      std::vector<int32_t> choices;
      for (int32_t id = 1; id < static_cast<int32_t>(tokens.size()); ++id) {
        const bool may =
            !tokens[id].empty() && slow.IsPrefix(text + tokens[id]);
        ASSERT_EQ(mask->Has(id), may)
            << "seed " << seed << ": " << text << " + " << tokens[id];
        ASSERT_EQ(matcher.Advance(state, id).ok(), may);
        if (may) choices.push_back(id);
        ++(may ? allowed : refused);
      }
      if (choices.empty()) break;
      const int32_t chosen = choices[random() % choices.size()];
      state = *matcher.Advance(state, chosen);
      text += tokens[chosen];
    }
  }
  EXPECT_GT(allowed, 1000u);
  EXPECT_GT(refused, 1000u);
}

TEST(ConstraintTest, ForcedBytesAreThoseWithoutAChoice) {
  for (uint64_t seed = 2000; seed < 2100; ++seed) {
    Generator random(seed);
    const Grammar grammar = RandomGrammar(&random);
    if (!Automaton::Create(grammar).ok()) continue;
    const auto constraint = ConstraintOf(grammar);
    SlowGrammar slow(&grammar);
    ConstraintMatcher matcher(constraint);
    std::string text = matcher.Forced(matcher.Start(), 20);
    for (size_t i = 0; i <= text.size() && i < 20; ++i) {
      const std::string before = text.substr(0, i);
      int ways = slow.Accepts(before) ? 1 : 0;
      for (const char c : {'a', 'b', 'c', 'd'}) {
        if (slow.IsPrefix(before + c)) ++ways;
      }
      const bool forced = ways == 1 && !slow.Accepts(before);
      ASSERT_EQ(forced, i < text.size()) << seed << ": " << text;
    }
  }
}

// Tokens of what must come count as far as none could be longer with what may
// follow.
TEST(ConstraintTest, ForcedTokensAreThoseThatNothingFollowingChanges) {
  const std::vector<std::string> tokens = {"",    "a",  "b",   "c",  "ab",
                                           "abc", "ca", "cab", "bd", "\xC3"};
  const auto trie =
      std::make_shared<TokenTrie>(tokens, std::vector<int32_t>{0});
  std::vector<std::string> asked;
  const auto forced = [&](const std::string& regex, ForcedRun spelling) {
    const Constraint constraint(*Automaton::Create(*GrammarOfRegex(regex)),
                                trie, {}, [&](std::string_view text) {
                                  asked.emplace_back(text);
                                  return spelling;
                                });
    // The matcher shares what it does not own.
    ConstraintMatcher matcher(
        std::shared_ptr<const Constraint>(&constraint, [](const auto*) {}));
    matcher.ForcedTokens(matcher.Start());
    const auto run = matcher.ForcedTokens(matcher.Start());
    return run == nullptr ? ForcedRun() : *run;
  };
  using testing::ElementsAre;
  using testing::IsEmpty;
  // Nothing follows.
  EXPECT_THAT(forced("abcab", {5, 4}), ElementsAre(5, 4));
  EXPECT_THAT(asked, ElementsAre("abcab"));  // and is remembered
  // "ab" could be "abc", "b" could be "bd".
  EXPECT_THAT(forced("abcab(c|d)", {5, 4}), ElementsAre(5));
  EXPECT_THAT(forced("abcab(c|d)", {5, 1, 2}), ElementsAre(5));
  EXPECT_THAT(forced("abcb(d|e)", {5, 2}), ElementsAre(5));
  EXPECT_THAT(forced("abcb(a|e)", {5, 2}), ElementsAre(5, 2));
  // "ca" of "c" and "ab" cannot be longer than "cab".
  EXPECT_THAT(forced("acb?a", {1, 3}), ElementsAre(1));
  // The text may end, or go on.
  EXPECT_THAT(forced("abcab(b*)", {5, 4}), ElementsAre(5, 4));
  EXPECT_THAT(forced("abcab(c*)", {5, 4}), ElementsAre(5));
  // The end of "ab" could begin "bd", as a tokenizer might write "abd".
  EXPECT_THAT(forced("abcab(d*)", {5, 4}), ElementsAre(5));
  EXPECT_THAT(forced("abab(d|e)", {4, 4}), ElementsAre(4));
  // A choice, a part of a character, and spellings of other texts.
  EXPECT_THAT(forced("(a|b)c", {1, 3}), IsEmpty());
  EXPECT_THAT(forced("[\u00e0-\u00ff]", {9}), IsEmpty());
  EXPECT_THAT(forced("abcab", {5, 1}), IsEmpty());
  EXPECT_THAT(forced("abcab", {5, 4, 0}), IsEmpty());
  EXPECT_THAT(forced("abcab", {5, 4, 10}), IsEmpty());
  EXPECT_THAT(forced("abcab", {-1}), IsEmpty());
  EXPECT_THAT(forced("abcab", {}), IsEmpty());
}

TEST(ConstraintTest, StatesAreValues) {
  const auto constraint = ConstraintOf(GrammarOfRegex("(ab|cd)*e"));
  ConstraintMatcher matcher(constraint);
  const auto walk = [&](std::string_view text) {
    ConstraintMatcher::State state = matcher.Start();
    for (const char c : text) {
      state = *matcher.Advance(state, 1 + static_cast<uint8_t>(c));
    }
    return state;
  };
  // Texts that leave the same are the same state.
  EXPECT_EQ(walk("ab"), walk("cdab"));
  EXPECT_NE(walk("a"), walk("c"));
  const std::unordered_set<ConstraintMatcher::State> states = {
      walk("ab"), walk("cd"), walk("a")};
  EXPECT_EQ(states.size(), 2u);
  // A state is unchanged by what follows another copy of it.
  const auto before = walk("a");
  const auto mask = matcher.Mask(before);
  walk("abcdabe");
  EXPECT_TRUE(std::ranges::equal(mask->words(), matcher.Mask(before)->words()));
}

TEST(ConstraintTest, AfterAnEndTokenNothingFollows) {
  const auto constraint = ConstraintOf(GrammarOfRegex("a*"));
  ConstraintMatcher matcher(constraint);
  const auto ended = matcher.Advance(matcher.Start(), kEndToken);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(matcher.Mask(*ended)->Empty());
  EXPECT_FALSE(matcher.Advance(*ended, kEndToken).ok());
  EXPECT_THAT(matcher.Advance(matcher.Start(), 1 + 'b').status(),
              IsError(absl::StatusCode::kInvalidArgument, "token 99"));
  EXPECT_FALSE(matcher.Advance(matcher.Start(), -1).ok());
  EXPECT_FALSE(matcher.Advance(matcher.Start(), 257).ok());
}

TEST(ConstraintTest, AVocabularyThatCannotGoOnLeavesNothing) {
  const auto trie = std::make_shared<TokenTrie>(
      std::vector<std::string>{"", "a"}, std::vector<int32_t>{kEndToken});
  const auto constraint = ConstraintOf(GrammarOfRegex("ab"), trie);
  ConstraintMatcher matcher(constraint);
  const auto state = matcher.Advance(matcher.Start(), 1);
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(matcher.Mask(*state)->Empty());
}

TEST(ConstraintTest, TokensMayEndInsideACharacter) {
  // The euro sign is E2 82 AC.
  const auto trie = std::make_shared<TokenTrie>(
      std::vector<std::string>{"", "\xE2", "\xE2\x82", "\x82\xAC", "\xAC",
                               "\xE2\x82\xAC!", "\x82"},
      std::vector<int32_t>{kEndToken});
  const auto constraint = ConstraintOf(GrammarOfRegex("[€]!?"), trie);
  ConstraintMatcher matcher(constraint);
  const auto first = matcher.Mask(matcher.Start());
  EXPECT_TRUE(first->Has(1) && first->Has(2) && first->Has(5));
  EXPECT_EQ(first->Count(), 3u);
  const auto second = matcher.Mask(*matcher.Advance(matcher.Start(), 1));
  EXPECT_TRUE(second->Has(3) && second->Has(6));
  EXPECT_EQ(second->Count(), 2u);
}

TEST(ConstraintTest, AKernelNamesEachPositionOnce) {
  // After "aa" the rule list is in one place, but may have begun at three.
  const auto constraint = ConstraintOf(
      GrammarOfGbnf("root ::= \"a\"* list \"!\"\nlist ::= \"a\"* \"b\"\n"));
  ParseStates states(&constraint->automaton(), 1 << 20);
  const std::vector<Position> kernel =
      states.Kernel(states.Walk(states.Start(), "aa"));
  EXPECT_FALSE(kernel.empty());
  EXPECT_EQ(std::set<Position>(kernel.begin(), kernel.end()).size(),
            kernel.size());
}

// Counts far from their bounds share their masks; near them they are exact.
TEST(ConstraintTest, LargeCountsAreExact) {
  const auto trie = ByteVocabulary({"xx", "xxxxxxx", "xy", "xxxxy"});
  const auto constraint = ConstraintOf(GrammarOfRegex("x{50,90}y"), trie);
  ConstraintMatcher matcher(constraint);
  const int32_t x = 1 + 'x', y = 1 + 'y';
  ConstraintMatcher::State state = matcher.Start();
  for (int count = 0; count <= 90; ++count) {
    const auto mask = matcher.Mask(state);
    EXPECT_EQ(mask->Has(x), count + 1 <= 90) << count;
    EXPECT_EQ(mask->Has(257), count + 2 <= 90) << count;
    EXPECT_EQ(mask->Has(258), count + 7 <= 90) << count;
    EXPECT_EQ(mask->Has(y), count >= 50) << count;
    EXPECT_EQ(mask->Has(259), count + 1 >= 50 && count + 1 <= 90) << count;
    EXPECT_EQ(mask->Has(260), count + 4 >= 50 && count + 4 <= 90) << count;
    if (count < 90) state = *matcher.Advance(state, x);
  }
}

// Plain tokens are not tried one by one inside of a string, nor are positions
// one by one where many alternatives begin alike.
TEST(ConstraintTest, MasksOfJsonAreThoseOfEachTokenAlone) {
  const auto trie = ByteVocabulary({"a",
                                    "ab",
                                    "abc",
                                    "abcd",
                                    "abcdefgh",
                                    "a b",
                                    "ä",
                                    "äö",
                                    "日本",
                                    "日本x",
                                    "\xF0\x9F\x98\x80",
                                    "x\xF0\x9F\x98\x80y",
                                    "\xE6\x97",
                                    "\xA5",
                                    "a\xE6",
                                    "\xC3",
                                    "\xED\xA0\x80",
                                    "\xF4\x90\x80\x80",
                                    "\xC0\x80",
                                    "\x7F",
                                    "a\x7F",
                                    "\n",
                                    "a\nb",
                                    "\"",
                                    "a\"",
                                    "ä\"",
                                    "\",",
                                    "\":",
                                    "\"}",
                                    "\\",
                                    "\\n",
                                    "a\\",
                                    "\\u00",
                                    "\"a\"",
                                    " \"",
                                    "{\"",
                                    "},",
                                    "xxxxxxxxxxxxxxxxxxxxxxxx",
                                    "name",
                                    "name\":",
                                    "text",
                                    "abxx",
                                    "{\"name\":"});
  std::string alternatives;
  for (int i = 0; i < 9; ++i) {
    const std::string number = std::to_string(i);
    alternatives += (i == 0 ? "" : ",") +
                    (R"({"type":"object","properties":{"name":{"const":"t)" +
                     number + R"("},"text":{"type":"string","maxLength":)" +
                     number + R"(}},"required":["name","text"]})");
  }
  int compared = 0, allowed = 0;
  for (const std::string& text :
       {std::string(R"({"type":"string"})"),
        std::string(R"({"type":"string","maxLength":3})"),
        std::string(R"({"type":"string","minLength":2,"maxLength":40})"),
        std::string(R"({"type":"string","minLength":30})"),
        std::string(R"({"type":"string","pattern":"^[a-d]*$"})"),
        std::string(R"({"type":"string","pattern":"a"})"),
        std::string(R"({"type":"array","items":{"type":"string"}})"),
        std::string(R"({"type":"object"})"),
        std::string(R"({"properties":{"a":{}},"additionalProperties":
                        {"type":"string","minLength":1,"maxLength":30}})"),
        R"({"anyOf":[)" + alternatives + "]}",
        // What follows the counted characters may be plain, too.
        std::string(R"([^"\\\x00-\x1f]{30}xx")"),
        std::string(R"([^"\\\x00-\x1f]{14,30}x+")"),
        std::string(R"([^"\\\x00-\x1f]{14,}x+")"),
        std::string(R"(x[^"\\\x00-\x1f]{14,30}x+")")}) {
    const auto constraint = ConstraintOf(
        text[0] == '{' ? GrammarOfJsonSchema(text) : GrammarOfRegex(text),
        trie);
    ASSERT_NE(constraint, nullptr) << text;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      Generator random(seed);
      ConstraintMatcher matcher(constraint);
      ParseStates states(&constraint->automaton(), 64 << 20);
      ConstraintMatcher::State state = matcher.Start();
      ParseStates::Id parsed = states.Start();
      for (int step = 0; step < 25; ++step) {
        const auto mask = matcher.Mask(state);
        std::vector<int32_t> choices;
        for (int32_t id = 1; id < static_cast<int32_t>(trie->tokens()); ++id) {
          const bool may =
              states.Walk(parsed, trie->bytes(id)) != ParseStates::kDead;
          ASSERT_EQ(mask->Has(id), may)
              << text << " seed " << seed << " step " << step << ": "
              << testing::PrintToString(trie->bytes(id));
          if (may) choices.push_back(id);
          ++compared;
        }
        allowed += static_cast<int>(choices.size());
        if (choices.empty()) break;
        const int32_t chosen = choices[random() % choices.size()];
        state = *matcher.Advance(state, chosen);
        parsed = states.Walk(parsed, trie->bytes(chosen));
      }
    }
  }
  EXPECT_GT(compared, 50'000);
  EXPECT_GT(allowed, 10'000);
}

TEST(ConstraintTest, AmbiguityWithoutBoundIsAnErrorNotFreedom) {
  const auto constraint =
      ConstraintOf(GrammarOfRegex("(a|aa|aaa){0,1000000}(b|aa){0,1000000}"));
  ConstraintMatcher matcher(constraint);
  ConstraintMatcher::State state = matcher.Start();
  absl::Status status;
  for (int i = 0; i < 20000 && status.ok(); ++i) {
    const auto next = matcher.Advance(state, 1 + 'a');
    status = next.status();
    if (next.ok()) state = *next;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(matcher.Mask(state)->Empty());
  EXPECT_EQ(matcher.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ConstraintTest, ListsThatRecurOnTheRightDoNotGrow) {
  const auto constraint =
      ConstraintOf(GrammarOfGbnf("root ::= [a-z] | [a-z] \",\" root\n"));
  ConstraintMatcher matcher(constraint);
  ConstraintMatcher::State state = matcher.Start();
  for (int i = 0; i < 200000; ++i) {
    state = *matcher.Advance(state, 1 + 'q');
    state = *matcher.Advance(state, 1 + ',');
  }
  EXPECT_TRUE(matcher.status().ok());
}

}  // namespace
}  // namespace trivium
