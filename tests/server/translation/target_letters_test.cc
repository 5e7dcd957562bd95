#include "server/translation/target_letters.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

TEST(TargetLettersTest, AreThoseThatTheSourceLanguageLacks) {
  const auto german = TargetLetters::Of("en", "de");
  ASSERT_NE(german, nullptr);
  for (char32_t c : U"äöüÄÖÜß") {
    if (c == 0) continue;
    EXPECT_TRUE(german->Contains(c)) << static_cast<int>(c);
  }
  for (char32_t c : U"azAZé") {
    if (c == 0) continue;
    EXPECT_FALSE(german->Contains(c)) << static_cast<int>(c);
  }
  const auto french = TargetLetters::Of("de_DE", "fra_Latn");
  ASSERT_NE(french, nullptr);
  EXPECT_TRUE(french->Contains(U'é'));
}

TEST(TargetLettersTest, AreNoneWhereTheSourceHasThemAll) {
  EXPECT_EQ(TargetLetters::Of("de", "en"), nullptr);
  EXPECT_EQ(TargetLetters::Of("de", "de"), nullptr);
}

TEST(TargetLettersTest, AreNoneWhereNamesTakeOtherForms) {
  EXPECT_EQ(TargetLetters::Of("en", "pl"), nullptr);
  EXPECT_EQ(TargetLetters::Of("ru", "de"), nullptr);
  EXPECT_EQ(TargetLetters::Of("en", "ja"), nullptr);
}

TEST(TargetLettersTest, AreNoneOfUnknownLanguages) {
  EXPECT_EQ(TargetLetters::Of("", "de"), nullptr);
  EXPECT_EQ(TargetLetters::Of("en", ""), nullptr);
}

}  // namespace
}  // namespace trivium
