#include "server/translation/number_neighbours.h"

#include <gmock/gmock.h>

#include <iterator>
#include <random>

#include "server/translation/number_check.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string WithNeighbours(const char* from, const char* to,
                           std::string_view source,
                           const std::string& translation) {
  const auto check = NumberCheck::For(from, to);
  return EditedText(translation, check->Neighbours(source, translation)).text();
}

std::string ToGerman(std::string_view source, const std::string& translation) {
  return WithNeighbours("en", "de", source, translation);
}
std::string ToEnglish(std::string_view source, const std::string& translation) {
  return WithNeighbours("de", "en", source, translation);
}

std::vector<size_t> Lost(std::string_view source,
                         std::string_view translation) {
  return NumberCheck::For("en", "de")->LostCurrencies(source, translation);
}

TEST(NumberNeighboursTest, GermanOrdinalsHaveAFullStop) {
  EXPECT_EQ(ToGerman("the 2nd or 103rd", "der 2nd oder 103rd Tag"),
            "der 2. oder 103. Tag");
  EXPECT_EQ(ToGerman("She came 22nd today.", "Sie kam heute 22.d an."),
            "Sie kam heute 22. an.");
  EXPECT_EQ(ToGerman("He was 3rd.", "Er wurde 3rd."), "Er wurde 3.");
  EXPECT_EQ(ToGerman("the 4th of 12", "der 4. von 12"), "der 4. von 12");
  EXPECT_EQ(ToGerman("the 80 Nd magnet", "der 80 Nd Magnet"),
            "der 80 Nd Magnet");
  EXPECT_EQ(ToGerman("2nd place", "2nster Ort"), "2. Ort");
  EXPECT_EQ(ToGerman("the 3rd, 5th or 7th day", "der 3, 5te oder 7 Tag"),
            "der 3., 5te oder 7. Tag");
  // Which of them is the ordinal?
  EXPECT_EQ(ToGerman("3 dogs on the 3rd day", "am 3 Tag 3 Hunde"),
            "am 3 Tag 3 Hunde");
}

TEST(NumberNeighboursTest, EnglishOrdinalsHaveTheirOwnMark) {
  EXPECT_EQ(ToEnglish("das 2. Mal, der 11., 21. und 103. Tag",
                      "the 2th time, the 11st, 21th and 103th day"),
            "the 2nd time, the 11th, 21st and 103rd day");
  EXPECT_EQ(ToEnglish("am 1. Mai", "on the 1st of May"), "on the 1st of May");
  EXPECT_EQ(ToEnglish("Im 18./19. Jh.", "In the 18,/19. Jh."),
            "In the 18th/19th Jh.");
  EXPECT_EQ(ToEnglish("Platz 1.–3. und mehr", "Places 1,-3. and more"),
            "Places 1st-3rd and more");
  EXPECT_EQ(ToEnglish("Der 1., 2. und 3. Tag", "The 1., 2, and 3. day"),
            "The 1st, 2nd and 3rd day");
  // The number of a list, a sentence's end and a clause's.
  EXPECT_EQ(ToEnglish("1. Einleitung", "1. Introduction"), "1. Introduction");
  EXPECT_EQ(ToEnglish("Es gab 12.", "There were 12."), "There were 12.");
  EXPECT_EQ(ToEnglish("Mit 12 ging er", "At 12, and early, he went"),
            "At 12, and early, he went");
}

TEST(NumberNeighboursTest, ALostCurrencyIsPutBack) {
  EXPECT_EQ(ToGerman("from $1,200 to $999", "von 1.200 $ auf999."),
            "von 1.200 $ auf 999 $.");
  EXPECT_EQ(ToGerman("It costs 50\u00A2 or CHF 7.", "Es kostet 50 oder 7."),
            "Es kostet 50 \u00A2 oder 7 CHF.");
  EXPECT_EQ(ToGerman("for $2.3 billion", "für 2,3 Milliarden"),
            "für 2,3 Milliarden $");
  EXPECT_EQ(ToEnglish("20 € und 40 £", "€20 and 40"), "€20 and £40");
  EXPECT_EQ(ToEnglish("CHF 5 hier", "5 here"), "CHF 5 here");
}

TEST(NumberNeighboursTest, SignsStandWhereTheLanguageHasThem) {
  EXPECT_EQ(ToGerman("$20, €30 and £4 million", "$20, 30 € und £4 Millionen"),
            "20 $, 30 € und 4 Millionen £");
  EXPECT_EQ(ToGerman("a $6 million bill", "eine 6 $ Millionen Rechnung"),
            "eine 6 Millionen $ Rechnung");
  EXPECT_EQ(ToGerman("$5 million", "$5 Millionen Dollar"),
            "5 Millionen Dollar");
  EXPECT_EQ(ToEnglish("19,99 €, 5,50 £", "€19.99, 5.50 £."), "€19.99, £5.50.");
  EXPECT_EQ(ToGerman("5 and US$7", "5 $ und US$7"), "5 $ und US$7");
}

TEST(NumberNeighboursTest, GermanHasItsOwnWordsForMillions) {
  EXPECT_EQ(ToGerman("a profit of €5.3bn", "ein Gewinn von 5,3bn €"),
            "ein Gewinn von 5,3 Mrd. €");
  EXPECT_EQ(ToGerman("up to £4m", "bis zu £4m"), "bis zu 4 Mio. £");
  EXPECT_EQ(ToGerman("It is 2 bn.", "Es sind 2 bn."), "Es sind 2 Mrd.");
  EXPECT_EQ(ToGerman("400 m long", "400 m lang"), "400 m lang");
}

TEST(NumberNeighboursTest, ASignBetweenTwoNumbersIsMovedOnce) {
  EXPECT_EQ(ToGerman("5 $ 10 $", "5 $ 10 $"), "5 $ 10 $");
  EXPECT_EQ(ToGerman("€10 and $5", "5£10"), "5 $10 £");
}

// EditedText needs it.
TEST(NumberNeighboursTest, EditsOfAnyTextAscendAndDoNotOverlap) {
  constexpr const char* kPieces[] = {
      "5",   "10",  "2",   "$",       "€",    "£", "\u00A2", " ",  "\u00A0",
      "USD", "CHF", "nd",  "million", "Mio.", "k", ".",      "th", "XIV",
      "auf", "-",   " to", "Dollar",  "d",    ",", "US-",    "m",  "/"};
  const auto to_german = NumberCheck::For("en", "de"),
             to_english = NumberCheck::For("de", "en");
  std::mt19937 draw(1);
  const auto text = [&] {
    std::string all;
    for (size_t i = draw() % 9; i < 9; ++i) {
      all += kPieces[draw() % std::size(kPieces)];
    }
    return all;
  };
  for (int i = 0; i < 50'000; ++i) {
    const std::string source = text(), translation = i % 2 ? source : text();
    for (const auto* const check : {&to_german, &to_english}) {
      size_t end = 0;
      for (const TextEdit& edit : (*check)->Neighbours(source, translation)) {
        ASSERT_LE(end, edit.span.begin) << source << "|" << translation;
        end = edit.span.end;
      }
      ASSERT_LE(end, translation.size()) << source << "|" << translation;
    }
  }
}

TEST(NumberNeighboursTest, ACurrencyThatIsSaidStays) {
  for (const auto& [source, translation] :
       {std::pair("for $5", "für 5 Dollar"),
        std::pair("a $5 bill", "ein 5-Dollar-Schein"),
        std::pair("$5 million", "5 Millionen US-Dollar"),
        std::pair("US$ 20", "20 US-Dollar"), std::pair("$5 and 5", "5 $ und 5"),
        std::pair("5 pounds of flour", "5 Kilo Mehl"),
        std::pair("10 centimeters", "10 Zentimeter"),
        std::pair("EUR 450", "450 EUR"), std::pair("€20-€30", "20-30 €"),
        std::pair("the $ sign and 5", "das Zeichen und 5")}) {
    EXPECT_EQ(ToGerman(source, translation), translation);
    EXPECT_THAT(Lost(source, translation), IsEmpty()) << source;
  }
}

TEST(NumberNeighboursTest, ACurrencyOfAnotherNumberIsFound) {
  EXPECT_THAT(Lost("It costs €19.99, £5.50 or CHF 12.",
                   "Es kostet 19,99 £5,50 oder CHF 12 €."),
              ElementsAre(0));
  EXPECT_THAT(Lost("USD 500 or EUR 450", "EUR 500 oder 450 USD"),
              ElementsAre(0, 1));
  EXPECT_THAT(Lost("USD 500 or EUR 450", "500 USD oder 450 EUR"), IsEmpty());
}

TEST(NumberNeighboursTest, ALostMillionIsFound) {
  EXPECT_THAT(Lost("They raised $20m.", "Sie hoben 20 Dollar."),
              ElementsAre(0));
  EXPECT_THAT(Lost("They raised $20m.", "Sie hoben 20 Millionen Dollar."),
              IsEmpty());
}

TEST(NumberNeighboursTest, EnglishKingsHaveNoFullStop) {
  EXPECT_EQ(ToEnglish("Ludwig XIV. war König.", "Louis XIV. was king."),
            "Louis XIV was king.");
  EXPECT_EQ(ToEnglish("Es regierte Ludwig XIV.", "Louis XIV. He reigned."),
            "Louis XIV. He reigned.");
  EXPECT_EQ(ToGerman("Louis XIV. was", "Ludwig XIV. war"), "Ludwig XIV. war");
}

TEST(NumberNeighboursTest, AmountsHaveTheirSigns) {
  const auto with_signs = [](std::string_view text, TextSpan number) {
    return std::string(WithSigns(text, number).Of(text));
  };
  EXPECT_EQ(with_signs("for $5 now", {5, 6}), "$5");
  EXPECT_EQ(with_signs("for 5 $ now", {4, 5}), "5 $");
  EXPECT_EQ(with_signs("EUR 450 or", {4, 7}), "EUR 450");
  EXPECT_EQ(with_signs("20% of 5", {0, 2}), "20%");
  EXPECT_EQ(with_signs("at $1.5k now", {4, 7}), "$1.5k");
  EXPECT_EQ(with_signs("20 £30", {0, 2}), "20");
  EXPECT_EQ(WithSignInPlace("$5", "de"), "5 $");
  EXPECT_EQ(WithSignInPlace("$1,5k", "de"), "1,5k $");
  EXPECT_EQ(WithSignInPlace("5,50 €", "en"), "€5,50");
  EXPECT_EQ(WithSignInPlace("EUR 450", "de"), "EUR 450");
}

}  // namespace
}  // namespace trivium
