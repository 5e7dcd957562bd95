#include "server/translation/number_check.h"

#include <gmock/gmock.h>

#include "server/translation/number_words.h"
#include "server/translation/numbers.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

NumberCheck Check(const char* source, const char* target) {
  return *NumberCheck::For(source, target);
}

bool Differ(std::string_view source, std::string_view translation) {
  return !Check("en", "de").Compare(source, translation).empty();
}

std::string Corrected(const NumberCheck& check, std::string_view source,
                      std::string_view translation) {
  const EditedText edited(std::string(translation),
                          check.Corrections(source, translation));
  return EditedText(edited.text(), check.Repairs(source, edited.text())).text();
}

std::vector<std::string> Values(std::string_view text, const char* language) {
  std::vector<std::string> values;
  for (const WrittenNumber& one :
       NumbersIn(text, *NumberStyle::For(language))) {
    values.push_back(one.value);
  }
  return values;
}

TEST(NumbersTest, LanguagesReadSeparatorsDifferently) {
  EXPECT_THAT(Values("1,234 1.234 1,234.50 1.234,50 1.234.567", "en"),
              ElementsAre("1234", "1.234", "1234.5", "1234.5", "1234567"));
  EXPECT_THAT(Values("1,234 1.234 1,234.50 1.234,50 1.234.567", "deu_Latn"),
              ElementsAre("1.234", "1234", "1234.5", "1234.5", "1234567"));
  EXPECT_THAT(Values("12 000 Leute, 1'234'567,0 am 3 4", "fr"),
              ElementsAre("12000", "1234567", "3", "4"));
}

TEST(NumbersTest, DatesTimesAndVersionsAreNoValues) {
  EXPECT_THAT(Values("26.11.2026 15.30 2.0.1", "de"), ElementsAre("", "", ""));
  EXPECT_THAT(Values("at 5.00 p.m.", "en"), ElementsAre(""));
  EXPECT_THAT(Values("2026-11-26 10:30", "en"),
              ElementsAre("2026", "11", "26", "10", "30"));
}

TEST(NumbersTest, SpacesBehindANameMarkNoGroups) {
  EXPECT_THAT(Values("Der A350 350 Menschen und 350 000 Koffer", "de"),
              ElementsAre("350", "350", "350000"));
}

TEST(NumbersTest, UnknownLanguagesHaveNoStyle) {
  EXPECT_FALSE(NumberStyle::For(""));
  EXPECT_FALSE(NumberStyle::For("xx"));
  EXPECT_FALSE(NumberStyle::For("ar-EG")) << "digits of its own";
  EXPECT_FALSE(NumberCheck::For("en", "xx"));
}

TEST(NumberWordsTest, KnowsNumbersAndMonths) {
  EXPECT_THAT(NumberWords::For("de").SaidIn("Zwölf Leute, am dritten Mai, "
                                            "einundzwanzigjährig, tausend"),
              IsSupersetOf({12, 3, 5, 21, 1000}));
  EXPECT_THAT(NumberWords::For("en").SaidIn("Twenty-one, the first of May"),
              IsSupersetOf({21, 1, 5}));
  EXPECT_FALSE(NumberWords::For("xx").known());
}

TEST(NumberCheckTest, EqualValuesAreEqual) {
  EXPECT_FALSE(
      Differ("It costs 1,234.50 dollars.", "Es kostet 1.234,5 Dollar"));
  EXPECT_FALSE(Differ("800,000 people", "800 000 Menschen"));
  EXPECT_FALSE(Differ("Call at 3:30 pm.", "Ruf um 15.30 Uhr an."));
  EXPECT_FALSE(Differ("at 9:00", "um 9 Uhr"));
  EXPECT_FALSE(Differ("on November 26, 2026", "am 26.11.2026"));
  EXPECT_FALSE(Differ("on 3/5/2020", "am 5. März 2020"));
  EXPECT_FALSE(
      Differ("10-20 people in 3 houses", "10 bis 20 Menschen in drei Häusern"));
  EXPECT_FALSE(Differ("the 1980s and the 21st century",
                      "die 80er Jahre und das 21. Jahrhundert"));
  EXPECT_FALSE(Differ("two cats", "2 Katzen"));
  EXPECT_FALSE(Differ("Windows 3.1", "Windows 3.1"));
  EXPECT_FALSE(Differ("half past 3", "halb 4"));
  EXPECT_FALSE(Differ("no numbers", "keine Zahlen"));
}

TEST(NumberCheckTest, LostAndAlteredNumbersAreFound) {
  EXPECT_TRUE(
      Differ("It costs 1,234.50 dollars.", "Es kostet 1.234.50 Dollar"));
  EXPECT_TRUE(Differ("1,234 people", "1,234 Menschen")) << "1.234 of a human";
  EXPECT_TRUE(Differ("since 2012", "seit langem"));
  EXPECT_TRUE(Differ("3 dogs and two cats", "Hunde und zwei Katzen"));
  EXPECT_TRUE(Differ("Pay 90.", "Zahle 900."));
  EXPECT_TRUE(Differ("Pay 90.", "Zahle 90 oder 91."));
  EXPECT_TRUE(Differ("5 and 5", "5"));
  EXPECT_TRUE(Differ("at 18:55", "um 18:555"));
}

TEST(NumberCheckTest, NumbersThatAreSaidTwiceAreRepeated) {
  const auto repeated = [](std::string_view translation) {
    const NumberCheck::Differences differences =
        Check("en", "de").Compare("In 1850 it had 3 rooms.", translation);
    return std::pair(differences.added.size(), differences.repeated);
  };
  EXPECT_EQ(repeated("1850 hatte es 1850 3 Zimmer."), std::pair(1ul, 1ul));
  EXPECT_EQ(repeated("1850 hatte es 1851 3 Zimmer."), std::pair(1ul, 0ul));
}

TEST(NumberCheckTest, SmallNumbersMayBeWordsOfAnUnknownLanguage) {
  // ICU knows how Basque writes numbers, but not its words.
  const std::optional<NumberCheck> check = NumberCheck::For("en", "eu");
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->Compare("3 cats", "katuak").empty());
  EXPECT_FALSE(check->Compare("300 cats", "katuak").empty());
}

TEST(NumberCheckTest, SeparatorsAreWrittenAsTheTargetDoes) {
  const NumberCheck german = Check("en", "de"), english = Check("de", "en");
  EXPECT_EQ(Corrected(german, "£5,294,349.36", "£5.294.349.36"),
            "£5.294.349,36");
  EXPECT_EQ(Corrected(german, "It costs 1,234.50 dollars.",
                      "Es kostet 1.234.50 Dollar."),
            "Es kostet 1.234,50 Dollar.");
  EXPECT_EQ(Corrected(german, "USD 4.10", "USD 4.10"), "USD 4,10");
  EXPECT_EQ(Corrected(german, "$4.1 or $4.2", "$4.1 oder $4,2"),
            "$4,1 oder $4,2");
  EXPECT_EQ(Corrected(german, "1,000 planets", "1,000 Planeten"),
            "1.000 Planeten");
  EXPECT_EQ(
      Corrected(english, "Es kostet 1.234,50 Euro", "It costs 1.234,50 euros"),
      "It costs 1,234.50 euros");
  EXPECT_EQ(Corrected(Check("en", "fr"), "12,000.5 people", "12,000.5 gens"),
            "12\u202F000,5 gens");
}

TEST(NumberCheckTest, VersionsSectionsAndTimesKeepTheirPoint) {
  const NumberCheck german = Check("en", "de");
  for (const auto& [source, translation] :
       {std::pair("Windows 3.1 is old.", "Windows 3.1 ist alt."),
        std::pair("See section 3.1.", "Siehe Abschnitt 3.1."),
        std::pair("iOS 17.1 and USB 3.0", "iOS 17.1 und USB 3.0"),
        std::pair("from 10.15", "ab 10.15 Uhr"),
        std::pair("version 2.0.1", "Version 2.0.1")}) {
    EXPECT_EQ(Corrected(german, source, translation), translation);
  }
}

TEST(NumberCheckTest, VersionsAndSectionsGetTheirPointBack) {
  const NumberCheck german = Check("en", "de");
  EXPECT_EQ(Corrected(german, "Needs release 19.17.", "Es braucht 19,17 frei."),
            "Es braucht 19.17 frei.");
  EXPECT_EQ(Corrected(german, "See section 3.1.", "Siehe Abschnitt 3,1."),
            "Siehe Abschnitt 3.1.");
  EXPECT_EQ(Corrected(german, "GPT-4.5 speaks HTTP/1.1 on iOS 17.4.",
                      "GPT-4,5 spricht HTTP/1,1 auf iOS 17,4."),
            "GPT-4.5 spricht HTTP/1.1 auf iOS 17.4.");
  EXPECT_EQ(Corrected(german, "See arXiv:2101.00001, with Web 2.0.",
                      "Siehe arXiv:2101,00001, mit Web 2,0."),
            "Siehe arXiv:2101.00001, mit Web 2.0.");
  EXPECT_EQ(Corrected(german, "iOS 17.4 is new.", "IOS 17,4 ist neu."),
            "IOS 17.4 ist neu.");
  EXPECT_EQ(Corrected(german, "Ubuntu 22.04 is out.", "Ubuntu 22,04 ist da."),
            "Ubuntu 22.04 ist da.");
  EXPECT_EQ(Corrected(german, "Firefox 115.2 came.", "Firefox 115,2 kam."),
            "Firefox 115.2 kam.");
  // These are values.
  EXPECT_EQ(Corrected(german, "Inflation 2.5 and the EU 1.5 percent",
                      "Inflation 2,5 und die EU 1,5 Prozent"),
            "Inflation 2,5 und die EU 1,5 Prozent");
  EXPECT_EQ(Corrected(german, "It costs EUR 4.10.", "Es kostet EUR 4,10."),
            "Es kostet EUR 4,10.");
  for (const auto& [source, translation] :
       {std::pair("Total 22.04 is due.", "Total 22,04 ist fällig."),
        std::pair("Spending 2.04 for all.", "Spending 2,04 für alle."),
        std::pair("Berlin 22.04 degrees.", "Berlin 22,04 Grad."),
        std::pair("Berlin 1122.04 more.", "Berlin 1122,04 mehr."),
        std::pair("In 22.04 seconds.", "In 22,04 Sekunden.")}) {
    EXPECT_EQ(Corrected(german, source, translation), translation);
  }
}

TEST(NumberCheckTest, DatesHaveOneSeparator) {
  EXPECT_EQ(Corrected(Check("en", "de"), "on 12/27/2017 in London",
                      "am 12.27/2017 in London"),
            "am 12/27/2017 in London");
  EXPECT_EQ(Corrected(Check("en", "de"), "on 3/5/2020", "am 3.5.2020"),
            "am 3.5.2020");
  EXPECT_EQ(Corrected(Check("en", "de"), "1/2/2017, 3/4/2018, 1/2/2017",
                      "3.4/2018, 1.2/2017, 1.2/2017"),
            "3/4/2018, 1/2/2017, 1/2/2017")
      << "in another order";
  EXPECT_EQ(Corrected(Check("en", "de"), "11/2/2017 and 1/2/2017",
                      "11.2/2017 und 1/2/2017"),
            "11/2/2017 und 1/2/2017");
}

TEST(NumberCheckTest, ScoresAreNoTimes) {
  const NumberCheck german = Check("en", "de");
  EXPECT_EQ(Corrected(german, "The ratio is 7:9.", "Das Ratio ist 7:9 Uhr."),
            "Das Ratio ist 7:9.");
  EXPECT_EQ(Corrected(german, "won 2:1 and 3:0", "2:1 Uhr und 3:0 gewonnen"),
            "2:1 und 3:0 gewonnen");
  EXPECT_EQ(Corrected(german, "won 2:1 or 12:1", "gewann 2:1 oder 12:1 Uhr"),
            "gewann 2:1 oder 12:1");
  EXPECT_EQ(Corrected(german, "2:1, 2:1 and 2:1", "2:1 Uhr, 2:1 Uhr und 2:1"),
            "2:1, 2:1 und 2:1");
  EXPECT_EQ(Corrected(german, "He ran it in 2:05:30.", "Er lief 2:05:30 Uhr."),
            "Er lief 2:05:30.");
  EXPECT_EQ(
      Corrected(german, "At 7 pm on 3/4/2022.", "Um 19 Uhr am 3/4/2022 Uhr."),
      "Um 19 Uhr am 3/4/2022.");
  EXPECT_EQ(Corrected(german, "on 3/4/2022", "am 3.4.2022 Uhr"), "am 3.4.2022");
  for (const auto& [source, translation] :
       {std::pair("at 7:30", "um 7:30 Uhr"),
        std::pair("at 2:05:30 p.m.", "um 14:05:30 Uhr"),
        std::pair("2:1", "2:1 Uhren")}) {
    EXPECT_EQ(Corrected(german, source, translation), translation);
  }
}

TEST(NumberCheckTest, GermanCountsHoursTo24) {
  const NumberCheck german = Check("en", "de");
  EXPECT_EQ(Corrected(german, "Call at 3:30 pm or 9 p.m.",
                      "Ruf um 3.30 Uhr oder 9 Uhr an."),
            "Ruf um 15.30 Uhr oder 21 Uhr an.");
  EXPECT_EQ(Corrected(german, "He came at 5 p.m.", "Er kam um 5.00 Uhr."),
            "Er kam um 17.00 Uhr.");
  EXPECT_EQ(Corrected(german, "From 12:30 a.m. to 12 am or 12 pm.",
                      "Von 12.30 Uhr bis 12 Uhr oder 12 Uhr."),
            "Von 0.30 Uhr bis 0 Uhr oder 12 Uhr.");
  for (const auto& [source, translation] :
       {std::pair("at 3 am", "um 3 Uhr"),
        std::pair("at 3 pm", "um 3 Uhr nachmittags"),
        std::pair("at 3 pm", "um 15 Uhr"),
        std::pair("at 12:30 pm", "um 12.30 Uhr"),
        std::pair("3 pmol at 3", "3 pmol um 3 Uhr")}) {
    EXPECT_EQ(Corrected(german, source, translation), translation);
  }
}

TEST(NumberCheckTest, EnglishSaysWhichHalfOfTheDay) {
  const NumberCheck check = Check("de", "en");
  EXPECT_EQ(Corrected(check, "Am 3.10. um 14:30 Uhr.", "On 3.10. at 2:30."),
            "On 3.10. at 14:30.");
  EXPECT_EQ(Corrected(check, "Um 14:30 Uhr.", "At 2:30 p.m."), "At 2:30 p.m.");
  EXPECT_EQ(Corrected(check, "Um 14.30 Uhr.", "At 2:30 in the afternoon."),
            "At 2:30 in the afternoon.");
  EXPECT_EQ(Corrected(check, "14,50 € statt 2,50 €", "14.50 € not 2.50 €"),
            "14.50 € not 2.50 €");
}

TEST(NumberCheckTest, DatesTimesAndAddressesGetNoCommas) {
  const NumberCheck check = Check("de", "en");
  EXPECT_EQ(Corrected(check, "Am 3.10.2025 hier.", "On 3,10,2025 here."),
            "On 3.10.2025 here.");
  EXPECT_EQ(Corrected(check, "Um 17.45 Uhr.", "At 17,45."), "At 17:45.");
  EXPECT_EQ(Corrected(check, "Um 17.45 Uhr.", "At 17.45."), "At 17.45.");
  EXPECT_EQ(Corrected(check, "In 4:41,30 da.", "There in 4:41,30."),
            "There in 4:41.30.");
  EXPECT_EQ(Corrected(Check("en", "de"), "There in 4:41.30.", "In 4:41,30 da."),
            "In 4:41,30 da.");
  EXPECT_EQ(
      Corrected(Check("en", "de"), "Ping 192.168.1.1.", "Ping 192,168.1.1."),
      "Ping 192.168.1.1.");
}

TEST(NumberCheckTest, SimilarNumbersAreReplaced) {
  const NumberCheck german = Check("en", "de");
  EXPECT_EQ(Corrected(german, "at 18:55", "um 18:555"), "um 18:55");
  EXPECT_EQ(Corrected(german, "12,345 people", "12.45 Menschen"),
            "12.345 Menschen");
  EXPECT_EQ(Corrected(german, "98 people", "17 Menschen"), "17 Menschen");
}

TEST(NumberCheckTest, WordsForNumbersInDigitsAreDigits) {
  const NumberCheck german = Check("en", "de"), english = Check("de", "en");
  EXPECT_EQ(Corrected(german, "for 30 years", "seit dreißig Jahren"),
            "seit 30 Jahren");
  EXPECT_EQ(Corrected(german, "$1,000 or $100", "tausend oder ein hundert $"),
            "1.000 oder 100 $");
  EXPECT_EQ(Corrected(german, "a 40-year-old man", "ein vierzigjähriger Mann"),
            "ein 40-jähriger Mann");
  EXPECT_EQ(Corrected(english, "Mit 21 Jahren", "At twenty-one years"),
            "At 21 years");
  for (const auto& [source, translation] :
       {std::pair("3 cats", "drei Katzen"),
        std::pair("the 20th", "der zwanzigste"),
        std::pair("twenty cats, 20 dogs", "zwanzig Katzen, Hunde"),
        std::pair("20 of twenty", "20 von zwanzig"),
        std::pair("100 cats", "zwei hundert Katzen")}) {
    EXPECT_EQ(Corrected(german, source, translation), translation);
  }
}

TEST(NumberCheckTest, RomanNumeralsAreNumbers) {
  EXPECT_THAT(Values("Louis XIV, Type II, VIxen, X, MIX", "en"),
              ElementsAre("XIV", "II"));
  EXPECT_EQ(RomanValue("XIV"), 14);
  EXPECT_EQ(RomanValue("XXXIX"), 39);
  EXPECT_EQ(RomanValue("XIIII"), std::nullopt);
  EXPECT_FALSE(Differ("World War II", "Zweiter Weltkrieg"));
  EXPECT_FALSE(Differ("chapter IV", "Kapitel 4"));
  EXPECT_TRUE(Differ("Louis XIV", "Ludwig"));
  EXPECT_EQ(Corrected(Check("en", "de"), "Louis XII", "Ludwig XIII"),
            "Ludwig XII");
  EXPECT_EQ(Corrected(Check("en", "de"), "Louis XIII", "Louis XIIII"),
            "Louis XIII");
}

TEST(NumberCheckTest, AMonthIsNoOtherNumber) {
  EXPECT_TRUE(Differ("from 4 to 7 July", "bis zum 4. Juli"));
  EXPECT_FALSE(Differ("7/4/2020", "4. Juli 2020"));
}

TEST(NumberCheckTest, TheYearOfADateIsWhole) {
  EXPECT_TRUE(Differ("due 2024-06-11", "bis 24-06-11"));
}

TEST(NumberCheckTest, NumbersOfUnitsAreNoSections) {
  EXPECT_EQ(Corrected(Check("en", "de"), "in a section 93.38 feet wide",
                      "in einem Abschnitt 93.38 Fuß"),
            "in einem Abschnitt 93,38 Fuß");
}

TEST(NumberCheckTest, TimesSayTheirHalfOfTheDayOnce) {
  const NumberCheck german = Check("en", "de"), english = Check("de", "en");
  EXPECT_EQ(Corrected(german, "at 9:15 p.m.", "um 9:15 p.m."), "um 21:15 Uhr.");
  EXPECT_EQ(Corrected(german, "at 9:15 a.m. today", "heute um 9:15 a.m. da"),
            "heute um 9:15 Uhr da");
  EXPECT_EQ(Corrected(german, "from 7.00 p.m. during", "7.00 während"),
            "19.00 während");
  EXPECT_EQ(Corrected(english, "um 16:40 Uhr", "at 16:40 p.m."), "at 16:40.");
  EXPECT_EQ(Corrected(english, "um 9.30 Uhr morgens hier", "at 9:30 p.m. here"),
            "at 9:30 a.m. here");
  for (const auto& [source, translation] :
       {std::pair("um 9.30 Uhr", "at 9:30 p.m."),
        std::pair("um 9 Uhr abends", "at 9 p.m.")}) {
    EXPECT_EQ(Corrected(english, source, translation), translation);
  }
}

TEST(NumberCheckTest, TimesMayBeSaidAsPartsOfAnHour) {
  const auto same = [](std::string_view german, std::string_view english) {
    return Check("de", "en").Compare(german, english).empty() &&
           Check("en", "de").Compare(english, german).empty();
  };
  EXPECT_TRUE(same("Wir treffen uns um halb drei.", "We meet at 2:30."));
  EXPECT_TRUE(same("Wir treffen uns um halb drei.", "We meet at 14:30."));
  EXPECT_TRUE(same("Um halb eins ist Schluss.", "It ends at 12:30."));
  EXPECT_TRUE(same("Um Viertel vor acht.", "At 7:45."));
  EXPECT_TRUE(same("Um 15:15 Uhr.", "At a quarter past three."));
  EXPECT_TRUE(same("Um 2:30 Uhr.", "At half past two."));
  EXPECT_FALSE(same("Wir treffen uns um halb drei.", "We meet at 3:15."));
  EXPECT_FALSE(same("Wir treffen uns um halb drei.", "We meet at 4:30."));
}

TEST(NumberCheckTest, ANumberOfAnotherLanguageKeepsItsPoint) {
  EXPECT_EQ(
      Corrected(Check("en", "de"), "It is 1,5 km away.", "Es ist 1.5 km weg."),
      "Es ist 1,5 km weg.");
}

TEST(NumberCheckTest, TimeIsLinearInLongTexts) {
  std::string digits;
  for (int i = 0; i < 20000; ++i) digits += "7";
  EXPECT_TRUE(Check("en", "de").Compare(digits, digits).empty());
  EXPECT_FALSE(Check("en", "de").Compare(digits, digits + "8").empty());
}

TEST(RoundPriceMarksTest, MarksStandBesideACurrency) {
  const auto without = [](std::string text) {
    std::vector<TextSpan> marks = RoundPriceMarks(text);
    for (; !marks.empty(); marks.pop_back()) {
      text.erase(marks.back().begin, marks.back().end - marks.back().begin);
    }
    return text;
  };
  EXPECT_EQ(without("5,- €, 1.200,– Euro, 12,-- €."), "5 €, 1.200 Euro, 12 €.");
  EXPECT_EQ(without("€ 5,-! EUR 19,\u2014. Fr. 20.- oder 3.- Franken"),
            "€ 5! EUR 19. Fr. 20 oder 3 Franken");
  EXPECT_EQ(without("5,-€ statt 29,- EUR"), "5€ statt 29 EUR");
  EXPECT_EQ(without("Der Kaffee kostet 1.–. Tee (3,-) nicht."),
            "Der Kaffee kostet 1. Tee (3) nicht.");
  for (const char* const other :
       {"5 €", "5,-", "1,-2 €", "5.-7. Mai", "$5-7", "5,50 €", "€5.-7",
        "5,- Eurocent", "a,- €", ""}) {
    EXPECT_EQ(without(other), other);
  }
}

}  // namespace
}  // namespace trivium
