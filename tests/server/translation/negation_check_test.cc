#include "server/translation/negation_check.h"

#include <gtest/gtest.h>

#include <string>

namespace trivium {
namespace {

bool Differs(const std::string& english, const std::string& german) {
  const bool one = NegationCheck::For("en-US", "de")->Differs(english, german);
  const bool other =
      NegationCheck::For("deu_Latn", "eng_Latn")->Differs(german, english);
  EXPECT_EQ(one, other) << english << " | " << german;
  return one;
}

TEST(NegationCheckTest, FindsNegationsOfOneTextAlone) {
  EXPECT_TRUE(Differs("I do not like him.", "Ich mag ihn."));
  EXPECT_TRUE(Differs("I don’t like him.", "Ich mag ihn."));
  EXPECT_TRUE(Differs("Nobody came.", "Jemand kam."));
  EXPECT_TRUE(Differs("No smoking!", "Rauchen!"));
  EXPECT_TRUE(Differs("As soon as someone came", "Kaum jemand kam"));
  EXPECT_TRUE(Differs("It is far.", "Es ist nicht weit."));
  EXPECT_TRUE(Differs("We have a car.", "Wir haben kein Auto."));
}

TEST(NegationCheckTest, LanguagesNegateInManyWays) {
  EXPECT_FALSE(Differs("I do not like him.", "Ich mag ihn nicht."));
  EXPECT_FALSE(Differs("Hardly anyone came.", "Kaum jemand kam."));
  EXPECT_FALSE(Differs("He is unhappy.", "Er ist nicht glücklich."));
  EXPECT_FALSE(Differs("It is not possible.", "Es ist unmöglich."));
  EXPECT_FALSE(Differs("You must not smoke.", "Rauchen ist verboten."));
  EXPECT_FALSE(Differs("He has no work.", "Er ist arbeitslos."));
  EXPECT_FALSE(
      Differs("He left without a word.", "Er ging wortlos, kein Wort."));
  EXPECT_FALSE(Differs("I have invisible ink.", "Die Tinte sieht man nicht."));
}

TEST(NegationCheckTest, WhatLooksLikeANegationIsNone) {
  EXPECT_FALSE(Differs("Nice weather, isn't it?", "Schönes Wetter, was?"));
  EXPECT_FALSE(Differs("She is not only clever.", "Sie ist klug."));
  EXPECT_FALSE(Differs("The No. 1 in the world.", "Der Erste der Welt."));
  EXPECT_FALSE(Differs("As soon as he came", "Kaum war er da"));
  EXPECT_FALSE(Differs("You are tired.", "Du bist müde, nicht wahr?"));
  EXPECT_FALSE(Differs("", ""));
  // These begin like negations, and are none.
  EXPECT_TRUE(Differs("Under the union.", "Nicht so."));
  EXPECT_TRUE(Differs("It is not so.", "Und uns unter."));
}

TEST(NegationCheckTest, OtherLanguagesAreNotChecked) {
  EXPECT_FALSE(NegationCheck::For("en", "fr"));
  EXPECT_FALSE(NegationCheck::For("en", "en"));
  EXPECT_FALSE(NegationCheck::For("", "de"));
}

}  // namespace
}  // namespace trivium
