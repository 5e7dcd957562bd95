#include "server/translation/language_detection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trivium {
namespace {

using testing::IsEmpty;

TEST(LanguageDetectionTest, IsSureOfWholeSentences) {
  for (const auto& [language, text] :
       {std::pair{"en", "The cat sat on the mat."},
        {"de", "Die Katze sitzt auf der Matte."},
        {"fr", "Le chat est assis sur le tapis."},
        {"zh-Hant", "這是一個測試，請稍候再試"}}) {
    const std::vector<LanguageGuess> guesses = DetectLanguages(text);
    ASSERT_FALSE(guesses.empty()) << text;
    EXPECT_EQ(guesses[0].language, language);
    EXPECT_TRUE(guesses[0].reliable) << text;
    EXPECT_GT(guesses[0].percent, 90) << text;
  }
}

TEST(LanguageDetectionTest, GuessesTheLanguageOfAWord) {
  const std::vector<LanguageGuess> guesses = DetectLanguages("Hallo");
  ASSERT_FALSE(guesses.empty());
  EXPECT_EQ(guesses[0].language, "de");
  EXPECT_FALSE(guesses[0].reliable);
}

TEST(LanguageDetectionTest, FindsNoLanguageInNumbers) {
  for (const char* text : {"", " ", "12345", "%1$, {0} !"}) {
    EXPECT_THAT(DetectLanguages(text), IsEmpty()) << text;
  }
}

TEST(LanguageDetectionTest, ReadsTheBeginningOfALongText) {
  std::string text;
  while (text.size() < 20 << 10) text += "Die Katze sitzt auf der Mätte. ";
  while (text.size() < 60 << 10) text += "Le chat est assis sur le tapis. ";
  const std::vector<LanguageGuess> guesses = DetectLanguages(text);
  ASSERT_EQ(guesses.size(), 1);
  EXPECT_EQ(guesses[0].language, "de");
}

TEST(LanguageDetectionTest, SurvivesBytesThatAreNotUtf8) {
  DetectLanguages("\xff\xfe caf\xe9 \x80\x80 this is a text \xc3");
}

}  // namespace
}  // namespace trivium
