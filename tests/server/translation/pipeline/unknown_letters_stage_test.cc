#include "server/translation/pipeline/unknown_letters_stage.h"

#include "tests/server/translation/pipeline/letter_tokenizer.h"
#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class UnknownLettersStageTest : public StageTest {
 protected:
  static std::vector<std::string> Protected(
      const std::string& text,
      std::shared_ptr<const TargetLetters> letters = nullptr) {
    const TranslationJob job =
        Opened(UnknownLettersStage(KnownLetters(), std::move(letters)), text);
    EXPECT_EQ(job.text_stages.contains(TextStage::kUnknownLetters),
              !job.protected_spans.empty());
    std::vector<std::string> spans;
    for (const TextSpan& span : job.protected_spans) {
      spans.emplace_back(span.Of(text));
    }
    return spans;
  }
};

TEST_F(UnknownLettersStageTest, WordsWithUnknownLettersAreProtected) {
  EXPECT_THAT(Protected("Dvořák met Mr. Čapek, in Łódź."),
              ElementsAre("Dvořák", "Čapek", "Łódź"));
  EXPECT_THAT(Protected("Das Wort Москва heißt Αθήνα."),
              ElementsAre("Москва", "Αθήνα"));
  EXPECT_THAT(Protected("Covid19ř and 猫"), ElementsAre("Covid19ř", "猫"));
}

TEST_F(UnknownLettersStageTest, KnownWordsAreNot) {
  EXPECT_THAT(Protected("Grüße aus Köln, “quoted” – 5 € → ﬁn ★"), IsEmpty());
  EXPECT_THAT(Protected("fu\u0308r"), IsEmpty());
}

TEST_F(UnknownLettersStageTest, AComposedLetterMayBeUnknown) {
  EXPECT_THAT(Protected("c\u030Cas und fu\u0308r"), ElementsAre("c\u030Cas"));
}

TEST_F(UnknownLettersStageTest, UnitsAndFormulasWithRaisedCharactersAreKept) {
  EXPECT_THAT(Protected("50 m² and 10² or 5½ cups"),
              ElementsAre("m²", "10²", "5½"));
  EXPECT_THAT(Protected("E = mc² or ²"), ElementsAre("mc²", "²"));
}

TEST_F(UnknownLettersStageTest, OfALongWordOnlyTheRaisedEndIsKept) {
  EXPECT_THAT(Protected("the results² of Trivium™."), ElementsAre("²", "™"));
}

TEST_F(UnknownLettersStageTest, EndingsAndPartsOfCompoundsAreRead) {
  EXPECT_THAT(Protected("Dvořák's and Dvořák’s"),
              ElementsAre("Dvořák", "Dvořák"));
  EXPECT_THAT(Protected("die Łódź-Reise"), ElementsAre("Łódź"));
}

TEST_F(UnknownLettersStageTest, RareWordsOfANameBehindOneAreKept) {
  // This tokenizer has no word of several letters.
  EXPECT_THAT(Protected("Zoë Kravitz and Mladá Boleslav Nord."),
              ElementsAre("Zoë Kravitz", "Mladá Boleslav Nord"));
  EXPECT_THAT(Protected("Zoë's Haus, Zoë Haus-Bau, Zoë NATO, řeka Haus"),
              ElementsAre("Zoë", "Zoë", "Zoë", "řeka"));
}

TEST_F(UnknownLettersStageTest, NamesInLettersOfTheTargetAreKept) {
  const auto german = TargetLetters::Of("en", "de");
  EXPECT_THAT(Protected("Müller's friend from Köln-Nord, DÜSSELDORF", german),
              ElementsAre("Müller", "Köln", "DÜSSELDORF"));
  EXPECT_THAT(Protected("Hü, the über-rich, a müsli, Müll2, Tom", german),
              IsEmpty());
}

TEST_F(UnknownLettersStageTest, ARunOfWordsIsOneSpan) {
  EXPECT_THAT(Protected("by Škvorecký Čapek-Žák now"),
              ElementsAre("Škvorecký Čapek-Žák"));
  EXPECT_THAT(Protected("Čapek, Łódź"), ElementsAre("Čapek", "Łódź"));
  EXPECT_THAT(Protected("\"Он сказал: «Это, правда»\" he said"),
              ElementsAre("Он сказал: «Это, правда"));
  EXPECT_THAT(Protected("А. С. Пушкин wrote"), ElementsAre("А. С. Пушкин"));
  EXPECT_THAT(Protected("say 今日は、いい天気。 now"),
              ElementsAre("今日は、いい天気。"));
}

TEST_F(UnknownLettersStageTest, ARunEndsWithItsSentence) {
  EXPECT_THAT(Protected("Это Москва. Тула тоже!\nДа"),
              ElementsAre("Это Москва", "Тула тоже", "Да"));
  EXPECT_THAT(Protected("Москва Čapek"), ElementsAre("Москва", "Čapek"));
}

TEST_F(UnknownLettersStageTest, ProtectedSpansStayAsTheyAre) {
  TranslationJob job;
  job.text.text = "http://x/č and č";
  job.protected_spans = {{0, 11}};
  ASSERT_TRUE(UnknownLettersStage(KnownLetters(), nullptr).Open(&job).ok());
  EXPECT_THAT(job.protected_spans,
              ElementsAre(TextSpan{0, 11}, TextSpan{16, 18}));
}

TEST_F(UnknownLettersStageTest, ATextWithAPrefixIsLeftAlone) {
  TranslationJob job;
  job.text.text = "č";
  job.prefix.text = "c";
  ASSERT_TRUE(UnknownLettersStage(KnownLetters(), nullptr).Open(&job).ok());
  EXPECT_THAT(job.protected_spans, IsEmpty());
}

}  // namespace
}  // namespace trivium
