#include "server/translation/translation_checks.h"

#include <gmock/gmock.h>

namespace trivium {
namespace {

TEST(RepeatsItselfTest, FindsRunsOfWords) {
  const char source[] = "The cat sat on the mat.";
  EXPECT_TRUE(RepeatsItself(source, "Die Katze Katze Katze Katze."));
  EXPECT_TRUE(
      RepeatsItself(source, "Die Katze saß auf der Matte, auf der Matte, auf"));
  EXPECT_TRUE(RepeatsItself(source, "猫坐在坐在坐在坐在垫子上"));
  EXPECT_FALSE(RepeatsItself(source, "Die Katze saß auf der Matte."));
  EXPECT_FALSE(RepeatsItself(source, "Nach und nach saß die Katze."));
  EXPECT_FALSE(RepeatsItself(source, "Sie, sie, sie saß."));
  EXPECT_FALSE(RepeatsItself(source, ""));
}

TEST(RepeatsItselfTest, FindsRunsOfCharacters) {
  EXPECT_TRUE(RepeatsItself("A steam ship.", "Ein Dampfdampfdampfdampfschiff"));
  EXPECT_TRUE(RepeatsItself("Why?", "Warum?????????????"));
  EXPECT_FALSE(RepeatsItself("A steam ship.", "Ein Dampfdampfschiff"));
}

TEST(RepeatsItselfTest, IgnoresRunsOfTheSource) {
  EXPECT_FALSE(RepeatsItself("No, no, no, no, no!", "Nein, nein, nein, nein!"));
  EXPECT_FALSE(RepeatsItself("Wait............", "Warte............"));
  EXPECT_TRUE(RepeatsItself("No, no, no, no!", "Nein, nein, nein, nein, nein"));
}

TEST(CopiesSourceTest, FindsTextsOfTheSource) {
  const char source[] = "He had never seen such a large house before.";
  EXPECT_TRUE(CopiesSource(source, source));
  EXPECT_TRUE(
      CopiesSource(source, "Er: \"he had NEVER seen such a large\" Haus"));
  EXPECT_FALSE(
      CopiesSource(source, "Er hatte nie zuvor ein so großes Haus gesehen."));
  EXPECT_FALSE(CopiesSource(source, ""));
  EXPECT_FALSE(CopiesSource("", source));
}

TEST(CopiesSourceTest, AllowsNamesAndShortTexts) {
  EXPECT_FALSE(CopiesSource("Angela Merkel, Barack Obama, Emmanuel Macron",
                            "Angela Merkel, Barack Obama, Emmanuel Macron"));
  EXPECT_FALSE(CopiesSource("in Berlin", "in Berlin"));
  EXPECT_FALSE(CopiesSource("12 34 56 78 90", "12 34 56 78 90"));
}

TEST(HasUnlikelyLengthTest, WeighsLetters) {
  EXPECT_FALSE(HasUnlikelyLength("OK", "In Ordnung"));
  EXPECT_TRUE(HasUnlikelyLength("OK", "Das ist in Ordnung, sagte er."));
  EXPECT_TRUE(
      HasUnlikelyLength("Das ist in Ordnung, sagte er und ging.", "OK"));
  EXPECT_FALSE(HasUnlikelyLength("He had never seen such a large house before.",
                                 "他以前从未见过这么大的房子。"));
  EXPECT_TRUE(HasUnlikelyLength("Yes", " "));
  EXPECT_FALSE(HasUnlikelyLength("...", ""));
}

TEST(HasReplacementCharactersTest,
     FindsMoreReplacementCharactersThanTheSourceHas) {
  EXPECT_TRUE(HasReplacementCharacters("a", "a\uFFFD"));
  EXPECT_TRUE(HasReplacementCharacters("a\uFFFD", "\uFFFDa\uFFFD"));
  EXPECT_FALSE(HasReplacementCharacters("a\uFFFD", "\uFFFDa"));
}

TEST(LanguageCheckTest, ReportsLanguagesThatSurelyDiffer) {
  const char english[] =
      "He had never seen such a large house before that day.";
  const char german[] = "Er hatte nie zuvor ein so großes Haus gesehen.";
  for (const char* name : {"de", "deu", "deu_Latn", "de-AT"}) {
    const auto check = LanguageCheck::For(name);
    ASSERT_TRUE(check) << name;
    EXPECT_TRUE(check->IsAnother(english));
    EXPECT_FALSE(check->IsAnother(german));
    // Too short to tell.
    EXPECT_FALSE(check->IsAnother("the house"));
    EXPECT_FALSE(check->IsAnother(""));
    EXPECT_FALSE(check->IsAnother("\xFF\xFE not UTF-8, but English all along"));
  }
  EXPECT_TRUE(LanguageCheck::For("en")->IsAnother(german));
}

TEST(LanguageCheckTest, IgnoresNames) {
  const auto check = LanguageCheck::For("de");
  EXPECT_FALSE(check->IsAnother("Microsoft Windows Server 2019 Datacenter"));
  EXPECT_FALSE(check->IsAnother(
      "Frau Smith, 221B Baker Street, London NW1 6XE, United Kingdom"));
  EXPECT_TRUE(
      check->IsAnother("The Windows server of Frau Smith is in London"));
  // Capitals alone tell no names.
  EXPECT_TRUE(check->IsAnother("THE HOUSE IS LARGE AND VERY OLD, HE SAID"));
  EXPECT_TRUE(check->IsAnother("Он никогда прежде не видел такого дома"));
}

TEST(LanguageCheckTest, TreatsNeighbouringLanguagesAsOne) {
  EXPECT_FALSE(LanguageCheck::For("da")->IsAnother(
      "Han hadde aldri sett et så stort hus før den dagen, sa han til meg."));
  EXPECT_FALSE(LanguageCheck::For("he")->IsAnother(
      "הוא מעולם לא ראה בית כל כך גדול לפני אותו יום"));
}

TEST(LanguageCheckTest, AcceptsLanguagesThatItDoesNotKnow) {
  EXPECT_FALSE(LanguageCheck::For(""));
  EXPECT_FALSE(LanguageCheck::For("zzz"));
  EXPECT_FALSE(LanguageCheck::For("klingon-language"));
}

}  // namespace
}  // namespace trivium
