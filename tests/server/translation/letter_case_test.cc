#include "server/translation/letter_case.h"

#include <gmock/gmock.h>

#include <map>

namespace trivium {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

// Ids of a vocabulary in which these words are pieces, the most frequent first;
// other words are single letters.
LetterCases::IdsOfWord Vocabulary(const std::vector<std::string>& words) {
  std::map<std::string, int32_t, std::less<>> ids;
  for (const std::string& word : words) {
    ids.emplace(word, static_cast<int32_t>(ids.size()));
  }
  return [ids](std::string_view word) -> std::vector<int32_t> {
    const auto found = ids.find(word);
    if (found != ids.end()) return {found->second};
    return std::vector<int32_t>(word.size(), 1000);
  };
}

LetterCases English() {
  return LetterCases(
      "en", Vocabulary({"the",  "The",       "I",     "is",    "what",
                        "else", "happening", "i",     "no",    "action",
                        "view", "answer",    "house", "House", "Berlin",
                        "NATO", "Hallo",     "and",   "to",    "visits"}));
}
LetterCases German() {
  return LetterCases("de", Vocabulary({"der", "die", "das", "Hund", "Haus",
                                       "ist", "groß", "besten", "für", "tipps",
                                       "Tipps", "Der", "Die", "im"}));
}

std::string Normal(const LetterCases& cases, std::string_view text,
                   LetterCase was) {
  const LetterCases::Normal normal = cases.InNormalCase(text, {}, {});
  EXPECT_EQ(normal.was, was) << text;
  EXPECT_EQ(normal.text.size(), text.size());
  return normal.text;
}

// The form for a copied word; empty: there is none.
std::string FormOf(const LetterCases& cases, std::string_view text) {
  const auto form = cases.FormIfCopied(text);
  return form ? form->text : "";
}

TEST(LetterCaseTest, GermanCapitalsHaveASharpSAgain) {
  const LetterCases cases(
      "de", Vocabulary({"das", "ist", "groß", "Wasser", "Straße", "die", "Die",
                        "Das", "Der", "weiß"}));
  EXPECT_EQ(Normal(cases, "DIE STRASSE IST GROSS", LetterCase::kCapitals),
            "Die Straße ist groß");
  EXPECT_EQ(Normal(cases, "DAS WASSER IST WEISS", LetterCase::kCapitals),
            "Das Wasser ist weiß");
  // In small letters a writer has chosen.
  EXPECT_EQ(Normal(cases, "Die Strasse ist gross", LetterCase::kNormal),
            "Die Strasse ist gross");
  // English has no such letter.
  EXPECT_EQ(Normal(English(), "THE HOUSE IS GROSS", LetterCase::kCapitals),
            "The house is gross");
}

TEST(LetterCaseTest, PlacesKeepTheirCapital) {
  EXPECT_EQ(Normal(English(), "WHAT IS HAPPENING IN TOKYO AND FRANCE?",
                   LetterCase::kCapitals),
            "What is happening in Tokyo and France?");
  EXPECT_EQ(
      Normal(English(), "What Else Is Happening to Paris", LetterCase::kTitle),
      "What else is happening to Paris");
  // A frequent word is no name.
  const LetterCases cases("en", Vocabulary({"the", "china", "is", "The"}));
  EXPECT_EQ(Normal(cases, "THE CHINA IS", LetterCase::kCapitals),
            "The china is");
}

TEST(LetterCaseTest, ARowOfSsTakesFewLookUps) {
  size_t look_ups = 0;
  const LetterCases cases("de", [&](std::string_view word) {
    ++look_ups;
    return std::vector<int32_t>(word.size(), 1000);
  });
  cases.InNormalCase(std::string(4096, 'S'), {}, {});
  EXPECT_LE(look_ups, 64);
}

TEST(LetterCaseTest, CapitalsAreReadInNormalCase) {
  EXPECT_EQ(Normal(English(), "WHAT ELSE IS HAPPENING?", LetterCase::kCapitals),
            "What else is happening?");
  EXPECT_EQ(Normal(English(), "I VISIT NATO AND BERLIN", LetterCase::kCapitals),
            "I visit NATO and Berlin");
  EXPECT_EQ(Normal(English(), "HAPPENING", LetterCase::kCapitals), "Happening");
  EXPECT_EQ(Normal(German(), "DER HUND IST IM HAUS", LetterCase::kCapitals),
            "Der Hund ist im Haus");
}

TEST(LetterCaseTest, ALabelIsAWordThatTheVocabularyHasInSmallLetters) {
  EXPECT_EQ(FormOf(English(), "House"), "house");
  EXPECT_EQ(FormOf(English(), "Answer"), "answer");
  for (const char* const text :
       {"Berlin", "Hallo", "NATO", "house", "View answer", "House.", "No", "",
        "the", "HOUSE", "The House"}) {
    EXPECT_EQ(FormOf(English(), text), "") << text;
  }
}

TEST(LetterCaseTest, AGermanLabelIsReadWithAnArticle) {
  const auto form = German().FormIfCopied("Haus");
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text, "Die Haus");
  EXPECT_EQ(form->before, "The ");
  for (const char* const text :
       {"Haußer", "Hausmann", "HAUS", "Das Haus", "Stuttgart", "Tipps"}) {
    EXPECT_EQ(FormOf(German(), text), "") << text;
  }
}

TEST(LetterCaseTest, ClausesInCapitalsAreRead) {
  EXPECT_EQ(Normal(English(), "He said: \"THE DOG IS HAPPENING!\" and left",
                   LetterCase::kNormal),
            "He said: \"The dog is happening!\" and left");
  EXPECT_EQ(Normal(English(),
                   "He said this while they left and joined and left again: "
                   "\"THE DOG IS HAPPENING! THE DOG IS HAPPENING!\"",
                   LetterCase::kNormal),
            "He said this while they left and joined and left again: "
            "\"The dog is happening! The dog is happening!\"");
  EXPECT_EQ(Normal(English(), "They joined NATO, EU, UN and left",
                   LetterCase::kNormal),
            "They joined NATO, EU, UN and left")
      << "acronyms";
}

TEST(LetterCaseTest, RomanNumeralsStayInCapitals) {
  EXPECT_EQ(
      Normal(English(), "WHAT ELSE IS XIV HAPPENING", LetterCase::kCapitals),
      "What else is XIV happening");
}

TEST(LetterCaseTest, NamesThatATitleHidGetTheirCapitalBack) {
  EXPECT_EQ(English().WithCopiedNames("Install Ubuntu on the House",
                                      "das ubuntu auf dem house einrichten"),
            "das Ubuntu auf dem house einrichten");
  // A capital of another size.
  EXPECT_EQ(English().WithCopiedNames("Install \u2C6Fbuntu on the House",
                                      "\u00AB\u0250buntu\u00BB"),
            "\u00AB\u0250buntu\u00BB");
}

TEST(LetterCaseTest, GermanWithEnglishNounsIsNoTitle) {
  Normal(German(), "Das ist Hund Haus für unser Hund Haus am Haus",
         LetterCase::kNormal);
}

TEST(LetterCaseTest, AcronymsAndNamesAreNoCapitals) {
  for (const char* text :
       {"NATO", "NATO, OK", "OK", "The NATO is here.", "A", "", "12", "中文",
        "Angela Merkel, Barack Obama", "Angela Merkel and Barack Obama",
        "The House is happening and what else is happening."}) {
    EXPECT_EQ(Normal(English(), text, LetterCase::kNormal), text);
  }
}

TEST(LetterCaseTest, TitlesAreReadInNormalCase) {
  EXPECT_EQ(Normal(English(), "No Action - View AI Answer", LetterCase::kTitle),
            "No action - view AI answer");
  EXPECT_EQ(Normal(English(), "Obama Visits The House", LetterCase::kTitle),
            "Obama visits the house");
  EXPECT_EQ(
      Normal(German(), "Die Besten Tipps Für Der Haus", LetterCase::kTitle),
      "Die besten tipps für der Haus");
  EXPECT_EQ(Normal(German(), "Das Haus und der Hund", LetterCase::kNormal),
            "Das Haus und der Hund");
}

TEST(LetterCaseTest, TitlesAreToldByCapitalsOfWordsThatAreNoNames) {
  EXPECT_EQ(Normal(English(), "He'S Not The House", LetterCase::kTitle),
            "He's not the house");
  EXPECT_EQ(Normal(English(), "Don’T Tell Me.", LetterCase::kTitle),
            "Don’t tell me.");
  EXPECT_EQ(Normal(English(), "I'M Where I Was", LetterCase::kTitle),
            "I'm where I was");
  EXPECT_EQ(Normal(German(), "Er Ist Der Hund", LetterCase::kTitle),
            "Er ist der Hund");
  EXPECT_EQ(Normal(German(), "Eine Wohnung Ist Wichtig", LetterCase::kTitle),
            "Eine Wohnung ist wichtig");
  for (const char* text : {"Theresa May in London", "\"The End\" is here",
                           "It'S Outraged.", "Tom read The Times."}) {
    EXPECT_EQ(Normal(English(), text, LetterCase::kNormal), text);
  }
  for (const char* text : {"Das Haus an der Seine", "Ich bitte Sie.",
                           "Liebe Grüße an Ihre Mutter"}) {
    EXPECT_EQ(Normal(German(), text, LetterCase::kNormal), text);
  }
}

TEST(LetterCaseTest, TwoCapitalsAtAWordsBeginningAreATypingError) {
  EXPECT_EQ(Normal(English(), "HAllo, the house", LetterCase::kNormal),
            "Hallo, the house");
  EXPECT_EQ(Normal(English(), "PCs, iPhones, McDonald", LetterCase::kNormal),
            "PCs, iPhones, McDonald");
}

TEST(LetterCaseTest, EmphasisInsideASentenceIsRead) {
  EXPECT_EQ(Normal(English(), "This is the HOUSE.", LetterCase::kNormal),
            "This is the house.");
  EXPECT_EQ(Normal(English(), "This is NATO and ABCDE.", LetterCase::kNormal),
            "This is NATO and ABCDE.");
}

TEST(LetterCaseTest, TheTextAroundKnowsNames) {
  const LetterCases::KnownWords known = English().WordsOf(
      "IS HAPPENING THE HOUSE. They saw Happening and the iPhone, no House, no "
      "house.");
  EXPECT_THAT(
      known,
      testing::IsSupersetOf(
          {std::pair<const std::string, std::string>("happening", "Happening"),
           std::pair<const std::string, std::string>("iphone", "iPhone"),
           std::pair<const std::string, std::string>("house", "house")}));
  EXPECT_EQ(English().InNormalCase("IS HAPPENING THE HOUSE", {}, known).text,
            "Is Happening the house");
}

TEST(LetterCaseTest, PlaceholdersStay) {
  EXPECT_EQ(English().InNormalCase("WHAT <X1> ELSE", {{5, 9}}, {}).text,
            "What <X1> else");
  EXPECT_EQ(InCapitals("was <x1> noch", {{4, 8}}), "WAS <x1> NOCH");
  EXPECT_EQ(InTitleCase("what <x1> else", {{5, 9}}, false), "What <x1> Else");
}

TEST(LetterCaseTest, TheTranslationGetsItsCaseBack) {
  EXPECT_EQ(InCapitals("Größe und Straße", {}), "GRÖSSE UND STRASSE");
  EXPECT_EQ(InTitleCase("the cat and the hat of oz", {}, false),
            "The Cat and the Hat of Oz");
  EXPECT_EQ(InTitleCase("the cat and the hat", {}, true),
            "The Cat And The Hat");
}

}  // namespace
}  // namespace trivium
