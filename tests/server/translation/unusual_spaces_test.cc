#include "server/translation/unusual_spaces.h"

#include <gtest/gtest.h>

#include <string>

namespace trivium {
namespace {

// Returns the translation with the spaces of a source whose "~" are no-break
// spaces; those of the result are "~", too.
std::string WithSpaces(std::string source, const std::string& translation) {
  std::vector<TextEdit> spaces;
  for (size_t at = source.find('~'); at != source.npos; at = source.find('~')) {
    source[at] = ' ';
    spaces.push_back({{at, at + 1}, "~"});
  }
  return EditedText(translation, UnusualSpaceEdits(source, spaces, translation))
      .text();
}

TEST(UnusualSpacesTest, StayBetweenWordsThatAreCopied) {
  EXPECT_EQ(WithSpaces("It is 10~km (5~%) long.", "Es ist 10 km (5 %) lang."),
            "Es ist 10~km (5~%) lang.");
  EXPECT_EQ(WithSpaces("See §~5 and § 5.", "Siehe § 5 und § 5."),
            "Siehe §~5 und § 5.");
  EXPECT_EQ(WithSpaces("“Dr.~Smith” came.", "„Dr. Smith“ kam."),
            "„Dr.~Smith“ kam.");
  EXPECT_EQ(WithSpaces("5~m", "15 m und 5 mm"), "15 m und 5~mm")
      << "beside the number";
}

TEST(UnusualSpacesTest, StayBesideANumber) {
  EXPECT_EQ(WithSpaces("It costs 1,234.50~euros.", "Es kostet 1.234,50 Euro."),
            "Es kostet 1.234,50~Euro.");
  EXPECT_EQ(WithSpaces("see page~5 of it", "siehe Seite 5 davon"),
            "siehe Seite~5 davon");
  EXPECT_EQ(WithSpaces("10~000 people", "10 000 Leute"), "10~000 Leute");
  EXPECT_EQ(WithSpaces("5~dogs and 5~cats", "5 Hunde und 5 Katzen"),
            "5~Hunde und 5~Katzen");
  EXPECT_EQ(WithSpaces("10~000 people", "10.000 Leute"), "10.000 Leute");
}

TEST(UnusualSpacesTest, StayBesideANameThatBothHave) {
  EXPECT_EQ(WithSpaces("Mr~Smith came.", "Herr Smith kam."), "Herr~Smith kam.");
  EXPECT_EQ(WithSpaces("Berlin~is big.", "Berlin ist groß."),
            "Berlin~ist groß.");
}

TEST(UnusualSpacesTest, AreLeftOutWhereNobodyKnowsTheirPlace) {
  for (const auto& [source, translation] :
       {std::pair("the red~house", "das rote Haus"), std::pair("~", ""),
        std::pair("~a~", "b"),
        std::pair("Mr~Smith and Mrs Smith", "Herr und Frau Smith"),
        std::pair("5~dogs", "fünf Hunde"), std::pair("5~€", "5€")}) {
    EXPECT_EQ(WithSpaces(source, translation), translation);
  }
}

}  // namespace
}  // namespace trivium
