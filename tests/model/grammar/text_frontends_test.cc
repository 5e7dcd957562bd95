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

// An expression that std::regex and this library read alike.
std::string RandomRegex(std::mt19937_64* random, int depth) {
  const auto draw = [random](int below) {
    return static_cast<int>((*random)() % static_cast<uint64_t>(below));
  };
  constexpr const char* kAtoms[] = {"a", "b", "c", "[ab]", "[^a]", ".", "\\d"};
  if (depth == 0) return kAtoms[draw(7)];
  const std::string left = RandomRegex(random, depth - 1);
  switch (draw(5)) {
    case 0:
      return "(" + left + "|" + RandomRegex(random, depth - 1) + ")";
    case 1:
      return "(?:" + left + ")" +
             std::vector<std::string>{
                 "*", "+", "?", "{2}", "{1,3}", "{2,}"}[static_cast<size_t>(
                 draw(6))];
    default:
      return left + RandomRegex(random, depth - 1);
  }
}

TEST(RegexTest, AgreesWithTheStandardLibrary) {
  std::mt19937_64 random(3);
  int matched = 0;
  for (int round = 0; round < 300; ++round) {
    const std::string expression = RandomRegex(&random, 3);
    const std::regex standard(expression);
    const auto constraint = ConstraintOf(GrammarOfRegex(expression));
    ASSERT_NE(constraint, nullptr) << expression;
    const auto node =
        ParseRegex(expression, RegexDialect::kEcmaScript, /*search=*/true);
    ASSERT_TRUE(node.ok());
    WorkBudget work(GrammarLimits().work);
    const auto search = CharDfa::Create(*node, &work);
    ASSERT_TRUE(search.ok()) << search.status();
    const auto others = search->Complement(&work);
    ASSERT_TRUE(others.ok()) << others.status();
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (size_t n = random() % 7; n > 0; --n) text += "abc1"[random() % 4];
      const bool whole = std::regex_match(text, standard);
      ASSERT_EQ(Accepts(*constraint, text), whole) << expression << " " << text;
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

TEST(RegexTest, RefusalsNameTheByte) {
  for (const char* expression :
       {"(?=a)",       "(?!a)", "(?<=a)", "(?i)a", "a\\b",        "\\1",
        "\\p{L}",      "(a",    "a)",     "[a",    "[b-a]",       "a{2,1}",
        "a{",          "*",     "a**",    "\\",    "a{99999999}", "\\x{D800}",
        "\\x{110000}", "\xFF",  "a^b",    "(a$)*"}) {
    EXPECT_THAT(GrammarOfRegex(expression).status(),
                IsError(kInvalidArgument, "byte"))
        << expression;
  }
  EXPECT_THAT(GrammarOfRegex("ab(c|d^)").status(),
              IsError(kInvalidArgument, "byte 6"));
  EXPECT_EQ(GrammarOfRegex(std::string(300'000, 'a')).status().code(),
            kResourceExhausted);
  EXPECT_EQ(GrammarOfRegex(std::string(5'000, '(')).status().code(),
            kInvalidArgument);
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
