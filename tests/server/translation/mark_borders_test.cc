#include "server/translation/mark_borders.h"

#include <gmock/gmock.h>

#include <string>

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Cut(const std::string& text) {
  std::vector<std::string> parts;
  for (const TextSpan& span : CutAtMarks(text, {0, text.size()})) {
    parts.emplace_back(span.Of(text));
  }
  return parts;
}

TEST(MarkBordersTest, CutsAtMarksBetweenItems) {
  EXPECT_THAT(Cut("Home | Events | About us"),
              ElementsAre("Home", "Events", "About us"));
  EXPECT_THAT(Cut("Milk • Bread · Eggs"), ElementsAre("Milk", "Bread", "Eggs"));
  EXPECT_THAT(Cut("Home › Events"), ElementsAre("Home", "Events"));
  EXPECT_THAT(Cut("• First item"), ElementsAre("First item"));
  EXPECT_THAT(Cut("| a | b |"), ElementsAre("a", "b"));
}

TEST(MarkBordersTest, CutsAtTheSignsOfAPath) {
  EXPECT_THAT(Cut("Home > Events » News → Über uns"),
              ElementsAre("Home", "Events", "News", "Über uns"));
  EXPECT_THAT(Cut("Go to Settings > General."),
              ElementsAre("Go to Settings", "General."));
  EXPECT_THAT(Cut("Damen / Herren"), ElementsAre("Damen", "Herren"));
  for (const char* const prose :
       {"5 < 6 and 7 > 3", "if A > B and x > Yes", "from left → right",
        "Il dit « Bonjour » Marie", "and / or", "> The cat", "a >",
        "Paris/Berlin", "»Komm!« Er"}) {
    EXPECT_THAT(Cut(prose), ElementsAre(prose));
  }
}

TEST(MarkBordersTest, CutsAtTabsBetweenWords) {
  EXPECT_THAT(Cut("Name\tPrice\t\tRed wine"),
              ElementsAre("Name", "Price", "Red wine"));
  EXPECT_THAT(Cut("one\n\ttwo"), ElementsAre("one\n\ttwo"));
}

TEST(MarkBordersTest, BarsBetweenWordsNeedNoSpaces) {
  EXPECT_THAT(Cut("Home|About us|Contact"),
              ElementsAre("Home", "About us", "Contact"));
  EXPECT_THAT(Cut("1|The house|3.5"), ElementsAre("1", "The house", "3.5"));
  EXPECT_THAT(Cut("Über│Ähre"), ElementsAre("Über", "Ähre"));
  for (const char* const one :
       {"P(A|B)", "foo|bar", "a|Bc", "Ab||Cd", "x|", "|x"}) {
    EXPECT_THAT(Cut(one), ElementsAre(one));
  }
}

TEST(MarkBordersTest, MarksWithinWordsAreNone) {
  EXPECT_THAT(Cut("a|b and c || d"), ElementsAre("a|b and c || d"));
  EXPECT_THAT(Cut("l·l"), ElementsAre("l·l"));
  EXPECT_THAT(Cut("Tom said: go - now."), ElementsAre("Tom said: go - now."));
}

TEST(MarkBordersTest, NumbersOfAListInOneLineAreMarks) {
  EXPECT_THAT(Cut("a) the dog b) the cat c) the bird"),
              ElementsAre("the dog", "the cat", "the bird"));
  EXPECT_THAT(Cut("1. Apples 2. Red pears"),
              ElementsAre("Apples", "Red pears"));
  EXPECT_THAT(Cut("(1) one (2) two"), ElementsAre("one", "two"));
  for (const char* const prose :
       {"1. and 2. house", "We need a) time and b) money", "a) only one",
        "1. Mai 3. Juni", "e. g. this f. that"}) {
    EXPECT_THAT(Cut(prose), ElementsAre(prose));
  }
}

TEST(MarkBordersTest, MarksAloneHaveNoParts) {
  EXPECT_THAT(Cut("| • |"), IsEmpty());
}

}  // namespace
}  // namespace trivium
