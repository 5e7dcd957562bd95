#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "fmt/format.h"
#include "model/grammar/char_dfa.h"
#include "model/grammar/frontends.h"
#include "model/grammar/number_range.h"
#include "model/grammar/work_budget.h"
#include "tests/model/grammar/grammar_tools.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kResourceExhausted;

enum class Assertions { kNone, kAhead, kAll };

// An expression that std::regex and this library read alike.
std::string RandomRegex(std::mt19937_64* random, int depth,
                        Assertions assertions) {
  const auto draw = [random](int below) {
    return static_cast<int>((*random)() % static_cast<uint64_t>(below));
  };
  constexpr const char* kAtoms[] = {"a",    "b", "c",   "[ab]",
                                    "[^a]", ".", "\\d", "\\b"};
  if (depth == 0) return kAtoms[draw(assertions == Assertions::kAll ? 8 : 7)];
  const std::string left = RandomRegex(random, depth - 1, assertions);
  if (assertions != Assertions::kNone && draw(3) == 0) {
    const std::string ahead =
        RandomRegex(random, depth - 1, Assertions::kAhead);
    return std::vector<std::string>{"(?=" + ahead + ")", "(?!" + ahead + ")",
                                    "^", "$"}[static_cast<size_t>(draw(4))] +
           left;
  }
  switch (draw(5)) {
    case 0:
      return "(" + left + "|" + RandomRegex(random, depth - 1, assertions) +
             ")";
    case 1:
      return "(?:" + left + ")" +
             std::vector<std::string>{
                 "*", "+", "?", "{2}", "{1,3}", "{2,}"}[static_cast<size_t>(
                 draw(6))];
    default:
      return left + RandomRegex(random, depth - 1, assertions);
  }
}

TEST(RegexTest, AgreesWithTheStandardLibrary) {
  std::mt19937_64 random(3);
  int matched = 0;
  for (int round = 0; round < 600; ++round) {
    const std::string expression = RandomRegex(
        &random, 3, round % 2 == 1 ? Assertions::kAll : Assertions::kNone);
    const std::regex standard(expression);
    const auto grammar = GrammarOfRegex(expression);
    ASSERT_TRUE(grammar.ok()) << expression << grammar.status();
    // Assertions may leave no text.
    const auto automaton = Automaton::Create(*grammar);
    WorkBudget work(GrammarLimits().work);
    const auto node = ParseRegex(expression, RegexDialect::kEcmaScript,
                                 /*search=*/true, &work);
    ASSERT_TRUE(node.ok());
    const auto search = CharDfa::Create(*node, &work);
    ASSERT_TRUE(search.ok()) << search.status();
    const auto others = search->Complement(&work);
    ASSERT_TRUE(others.ok()) << others.status();
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (size_t n = random() % 7; n > 0; --n) text += "abc1"[random() % 4];
      const bool whole = std::regex_match(text, standard);
      ASSERT_EQ(automaton.ok() && Accepts(*automaton, text), whole)
          << expression << " " << text;
      ASSERT_EQ(search->Matches(text), std::regex_search(text, standard))
          << expression << " " << text;
      ASSERT_NE(others->Matches(text), search->Matches(text));
      matched += whole;
    }
  }
  EXPECT_GT(matched, 200);
}

TEST(RegexTest, CharactersAreCodePoints) {
  const auto accepts = [](const char* expression, const std::string& text) {
    return Accepts(*ConstraintOf(GrammarOfRegex(expression)), text);
  };
  EXPECT_TRUE(accepts(".", "€"));
  EXPECT_FALSE(accepts(".", "\xE2\x82"));
  EXPECT_FALSE(accepts(".", "\n"));
  EXPECT_FALSE(accepts(".", "\xED\xA0\x80"));  // a surrogate
  EXPECT_FALSE(accepts(".", "\xC0\x80"));      // too long a form
  EXPECT_TRUE(accepts("[à-ü]{2}", "éö"));
  EXPECT_FALSE(accepts("[^à-ü]", "é"));
  EXPECT_TRUE(accepts("\\u20AC\\x{1F600}", "€😀"));
  EXPECT_TRUE(accepts("^a$|b", "b"));
  EXPECT_TRUE(accepts("[[:alpha:]_]+", "a_B"));
  EXPECT_TRUE(accepts("[]a]+", "a]"));
  // Every border of UTF-8's lengths.
  for (const char32_t c : {0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u,
                           0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    AppendUtf8(c, &text);
    EXPECT_TRUE(accepts("[\\x{0}-\\x{10FFFF}]", text))
        << static_cast<uint32_t>(c);
    Grammar grammar;
    grammar.set_root(grammar.AddRule());
    grammar.Define(
        grammar.root(),
        Utf8Expression(CodePointSet({{c, c}}).Complement(), &grammar));
    EXPECT_FALSE(Accepts(*ConstraintOf(grammar), text))
        << static_cast<uint32_t>(c);
  }
}

TEST(RegexTest, AssertionsHoldAnywhere) {
  const auto accepts = [](const std::string& expression,
                          const std::string& text) {
    WorkBudget work(GrammarLimits().work);
    const auto node = ParseRegex(expression, RegexDialect::kEcmaScript,
                                 /*search=*/true, &work);
    EXPECT_TRUE(node.ok()) << expression << node.status();
    const auto texts = CharDfa::Create(*node, &work);
    EXPECT_TRUE(texts.ok()) << expression << texts.status();
    return texts.ok() && texts->Matches(text);
  };
  struct Case {
    const char* expression;
    std::vector<std::string> right, wrong;
  };
  const Case cases[] = {
      // Passwords, names without two hyphens, words that are not reserved.
      {R"((?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,})",
       {"Passw0rd", "a B 1 cde"},
       {"passw0rd", "Pw0", "PASSW0RD"}},
      {R"(^[a-z]+(?:-(?!-)[a-z0-9]+)*$)", {"a-b", "a"}, {"a--b", "-a"}},
      {R"(^((?!foo).)*$)", {"", "fo", "bar"}, {"foo", "a foo"}},
      {R"(^(?!.*\bfoo\b)\w+( \w+)*$)", {"food", "a foobar"}, {"a foo", "foo"}},
      // Decimals of pydantic and durations of zod.
      {R"(^(?!^[-+.]*$)[+-]?0*(?:\d{0,2}|(?=[\d.]{1,4}0*$)\d{0,2}\.\d{0,2}0*$))",
       {"12", "1.25", "-0.5"},
       {"", "-", "+."}},
      {R"(^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?)?)$)",
       {"P1W", "P1DT2H", "PT1H"},
       {"P", "PT", "P1DT", "P1D1W"}},
      {R"(\bcat\b)", {"cat", "a cat.", "cat's"}, {"cats", "_cat", "concat"}},
      {R"(a\Bb)", {"ab"}, {"a b"}},
      {R"(^(?!-)[a-z0-9-]{1,5}(?<!-)$)", {"a-b", "x"}, {"-a", "a-", ""}},
      {R"(^.+(?<!\.md)$)", {"a", "md", "a.mdx"}, {"a.md", ""}},
      {R"((?<=\$)\d)", {"$5", "a $1"}, {"5", "$ 5"}},
      {R"((?<=^a)b)", {"ab", "abc"}, {"cab", "b"}},
      {R"(^(?:$|a))", {"", "ab"}, {"b"}},
      {R"(^(^a|b$)+$)", {"a", "b", "ab"}, {"ba", "aa"}},
      {R"(x(?=y)|z(?!y))", {"xy", "z", "zz"}, {"x", "zy"}},
      {R"(^[\w-.]+$)", {"a-b.c", "_"}, {"", "a b"}},
      {R"(^\{a}$)", {"{a}"}, {"a"}},
      {R"(^{a}$)", {"{a}"}, {"a"}},
      {R"(^\cJ$)", {"\n"}, {"J", "cJ"}},
      // Classes of Unicode, and letters in any case.
      {R"(^\p{L}+$)", {"Zürich", "東京"}, {"a1", ""}},
      {R"(^\p{Lu}\P{Lu}*$)", {"Éa", "A1"}, {"a", "AB"}},
      {R"(^[\p{L}\p{N} '-]+$)", {"O'Neill 2", "é-٣"}, {"a_b"}},
      {R"(^[^\p{L}]$)", {"1", "-"}, {"ß"}},
      {R"(^\p{Script=Greek}+$)", {"αβγ"}, {"abc"}},
      {R"(^\p{sc=Han}\pN$)", {"京1"}, {"a1"}},
      {R"(^\p{Alphabetic}\p{ASCII}$)", {"Ⅳa"}, {"1a", "aé"}},
      {R"((?i)^straße [a-c]$)", {"STRAßE B", "ſtraße c"}, {"x"}},
      {R"(^(?i:ab)c$)", {"ABc", "abc"}, {"abC"}},
      {R"(^(?s:.)$)", {"\n", "a"}, {""}},
  };
  for (const Case& one : cases) {
    for (const std::string& text : one.right) {
      EXPECT_TRUE(accepts(one.expression, text))
          << one.expression << " " << text;
    }
    for (const std::string& text : one.wrong) {
      EXPECT_FALSE(accepts(one.expression, text))
          << one.expression << " " << text;
    }
  }
  const auto whole = ConstraintOf(GrammarOfRegex("(?!ab)\\w{2}(?<!c)"));
  EXPECT_TRUE(Accepts(*whole, "ba"));
  EXPECT_FALSE(Accepts(*whole, "ab"));
  EXPECT_FALSE(Accepts(*whole, "bc"));
}

TEST(RegexTest, RefusalsNameTheByte) {
  for (const char* expression :
       {"(?>a)",       "(?m)a",       "a(?i)b",       "\\1",         "\\p{Lx}",
        "\\p{L",       "\\p",         "\\p{[a]}",     "(a",          "a)",
        "[a",          "[b-a]",       "a{2,1}",       "a{",          "a{,2}",
        "*",           "a**",         "^*",           "(?=a)*",      "\\",
        "\\c1",        "a{99999999}", "\\x{D800}",    "\\x{110000}", "\xFF",
        "(?<=a(?=b))", "(?<=a$)b",    "a(?=b(?<=b))", "a(?!.*\\b)"}) {
    EXPECT_THAT(GrammarOfRegex(expression).status(),
                IsError(kInvalidArgument, "byte"))
        << expression;
  }
  EXPECT_THAT(GrammarOfRegex("ab(?=c|d(?<!d))").status(),
              IsError(kInvalidArgument, "byte 8"));
  // No text is at its beginning behind a character.
  for (const char* expression : {"a^b", "(a$)b", "a(?=b)c", "(?<=a)b"}) {
    const auto grammar = GrammarOfRegex(expression);
    EXPECT_FALSE(grammar.ok() && Automaton::Create(*grammar).ok())
        << expression;
  }
  EXPECT_EQ(GrammarOfRegex(std::string(300'000, 'a')).status().code(),
            kResourceExhausted);
  EXPECT_EQ(GrammarOfRegex(std::string(5'000, '(')).status().code(),
            kInvalidArgument);
  std::string properties;
  for (int i = 0; i < 10'000; ++i) properties += "\\p{L}";
  EXPECT_EQ(GrammarOfRegex(properties).status().code(), kResourceExhausted);
}

TEST(ChoicesTest, ExactlyOneOfThem) {
  const std::vector<std::string> choices = {"yes", "no", "not sure", "ü"};
  const auto constraint = ConstraintOf(GrammarOfChoices(choices));
  for (const std::string& choice : choices) {
    EXPECT_TRUE(Accepts(*constraint, choice));
  }
  EXPECT_FALSE(Accepts(*constraint, "not"));
  EXPECT_FALSE(Accepts(*constraint, "yesno"));
  EXPECT_FALSE(Accepts(*constraint, ""));
  EXPECT_EQ(GrammarOfChoices({}).status().code(), kInvalidArgument);
  const std::vector<std::string> with_empty = {"a", ""};
  EXPECT_THAT(GrammarOfChoices(with_empty).status(),
              IsError(kInvalidArgument, "choices[1]"));
}

TEST(GbnfTest, ReadsLlamaCppsGrammars) {
  const auto arithmetic = ConstraintOf(GrammarOfGbnf(R"gbnf(
# llama.cpp's arithmetic.gbnf
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
)gbnf"));
  EXPECT_TRUE(Accepts(*arithmetic, "a+(b1 *2 )= 7\n"));
  EXPECT_FALSE(Accepts(*arithmetic, "a+=7\n"));
  EXPECT_FALSE(Accepts(*arithmetic, "a"));
  const auto forms = ConstraintOf(
      GrammarOfGbnf("root ::= \"\\x41\" . [^a-c\\]] (\"x\" |\n \"y\"){2,3} z?\n"
                    "z ::= \"\\u00e9\"{0,1} \"]\""));
  EXPECT_TRUE(Accepts(*forms, "A€dxy"));
  EXPECT_TRUE(Accepts(*forms, "A\ndxyxé]"));
  EXPECT_FALSE(Accepts(*forms, "A\naxy"));
  EXPECT_FALSE(Accepts(*forms, "A\ndx"));
}

TEST(GbnfTest, RulesMayRecurOnTheLeft) {
  const auto list = ConstraintOf(
      GrammarOfGbnf("root ::= list\nlist ::= list \",\" [a-z] | [a-z]\n"));
  EXPECT_TRUE(Accepts(*list, "a,b,c"));
  EXPECT_FALSE(Accepts(*list, "a,,c"));
}

TEST(GbnfTest, RefusalsNameLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= a\n", "line 1, column 10"},
      {"root ::= \"a\"\nroot ::= \"b\"\n", "line 2, column 1"},
      {"a ::= \"a\"\n", "line 1, column 1"},
      {"root ::= \"a\n", "line 2, column 1"},
      {"root ::= [b-a]\n", "line 1, column 14"},
      {"root = \"a\"\n", "line 1, column 6"},
      {"root ::= <think>\n", "line 1, column 10"},
      {"root ::= (\"a\"\n", "line 2, column 1"},
  };
  for (const auto& [text, place] : cases) {
    EXPECT_THAT(GrammarOfGbnf(text).status(), IsError(kInvalidArgument, place))
        << text;
  }
  EXPECT_EQ(GrammarOfGbnf("").status().code(), kInvalidArgument);
  EXPECT_EQ(Automaton::Create(*GrammarOfGbnf("root ::= \"a\" root\n"))
                .status()
                .code(),
            kInvalidArgument);
}

TEST(NumberRangeTest, IntegersBetweenTheirBounds) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const int64_t size = round % 2 == 0 ? 30 : 3000;
    const auto draw = [&]() -> std::optional<int64_t> {
      if (random() % 5 == 0) return std::nullopt;
      return static_cast<int64_t>(random() % static_cast<uint64_t>(2 * size)) -
             size;
    };
    const auto low = draw(), high = draw();
    WorkBudget work(GrammarLimits().work);
    const auto range = IntegersBetween(low, high, &work);
    ASSERT_TRUE(range.ok()) << range.status();
    for (int i = 0; i < 200; ++i) {
      const int64_t value =
          static_cast<int64_t>(random() % static_cast<uint64_t>(4 * size)) -
          2 * size;
      const bool in = (!low || value >= *low) && (!high || value <= *high);
      ASSERT_EQ(range->Matches(std::to_string(value)), in)
          << value << " in " << low.value_or(-99999) << ", "
          << high.value_or(99999);
    }
    EXPECT_FALSE(range->Matches("-0") || range->Matches("01") ||
                 range->Matches("") || range->Matches("-"));
  }
}

TEST(NumberRangeTest, NumbersBetweenTheirBounds) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&]() -> std::optional<NumberBound> {
      if (random() % 4 == 0) return std::nullopt;
      const double value = static_cast<double>(random() % 4000) / 100 - 20;
      return NumberBound{random() % 3 == 0 ? std::round(value) : value,
                         random() % 2 == 0};
    };
    const auto low = draw(), high = draw();
    WorkBudget work(GrammarLimits().work);
    if (!low && !high) continue;
    const auto range = NumbersBetween(low, high, &work);
    ASSERT_TRUE(range.ok()) << range.status();
    for (int i = 0; i < 300; ++i) {
      // Hundredths, tenths and whole numbers, also with zeros at the end.
      const int digits = static_cast<int>(random() % 4);
      const double scale = std::pow(10, digits);
      const double drawn = static_cast<double>(random() % 5000) / 100 - 25;
      std::string text =
          fmt::format("{:.{}f}", std::round(drawn * scale) / scale, digits);
      const double value = std::stod(text);
      const bool in =
          (!low ||
           (low->exclusive ? value > low->value : value >= low->value)) &&
          (!high ||
           (high->exclusive ? value < high->value : value <= high->value));
      // A zero has no sign here.
      const bool signed_zero = value == 0 && text[0] == '-';
      ASSERT_EQ(range->Matches(text), in && !signed_zero)
          << text << " in " << (low ? low->value : -99999) << ", "
          << (high ? high->value : 99999);
    }
  }
}

}  // namespace
}  // namespace trivium
