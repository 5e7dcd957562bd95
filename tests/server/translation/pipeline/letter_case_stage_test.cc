#include "server/translation/pipeline/letter_case_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A puppet's word has a piece for each byte, so no word of it is found to be in
// capitals. letter_case_test.cc tests what is.
class LetterCaseStageTest : public StageTest {
 protected:
  const TranslationOptions options_ = ByteOptions();
  const LetterCaseStage stage_{options_};
};

TEST_F(LetterCaseStageTest, NormalSentencesStay) {
  const TranslationJob job = Opened(stage_, "The cat sat there.");
  const Attempt attempt = Before(stage_, job);
  EXPECT_THAT(ReadTexts(attempt), ElementsAre("The cat sat there."));
  EXPECT_THAT(After(stage_, job, attempt, {"Da saß die Katze."})
                  .translation.text_stages,
              IsEmpty());
}

TEST_F(LetterCaseStageTest, ASentenceBeginsWithACapitalIfItsSourceDoes) {
  TranslationJob job = Opened(stage_, "About ten came to macOS.");
  const TranslationCandidate made =
      After(stage_, job, Before(stage_, job),
            {"etwa zehn kamen zu macOS.", "macOS bekam zehn.", "über 10."});
  EXPECT_EQ(made.translation.hypotheses[0].text, "Etwa zehn kamen zu macOS.");
  EXPECT_EQ(made.translation.hypotheses[1].text, "macOS bekam zehn.");
  EXPECT_EQ(made.translation.hypotheses[2].text, "Über 10.");
  EXPECT_THAT(made.translation.text_stages,
              ElementsAre(TextStage::kLetterCase));
  for (const char* const source : {"about ten came.", "About ten", ""}) {
    job = Opened(stage_, source);
    EXPECT_EQ(After(stage_, job, Before(stage_, job), {"etwa zehn."})
                  .translation.hypotheses[0]
                  .text,
              "etwa zehn.");
  }
}

TEST_F(LetterCaseStageTest, CapitalsComeBackOutsideOfPlaceholders) {
  TranslationJob job = Opened(stage_, "THE %d SAT THERE");
  job.text.parts[0].protected_spans = {{4, 6}};
  Attempt attempt = Before(stage_, job);
  attempt.readings[0].letter_case = LetterCase::kCapitals;
  attempt.readings[0].other_case = true;
  const TranslationCandidate made =
      After(stage_, job, attempt, {"da saß <x1> groß", "<x1>"});
  EXPECT_EQ(made.translation.hypotheses[0].text, "DA SASS <x1> GROSS");
  EXPECT_EQ(made.translation.hypotheses[1].text, "<x1>");
  EXPECT_THAT(made.translation.text_stages,
              ElementsAre(TextStage::kLetterCase));
}

TEST_F(LetterCaseStageTest, ACopiedWordIsReadAgainOnce) {
  const TranslationJob job = Opened(stage_, "Quarter");
  Attempt attempt = Before(stage_, job);
  TranslationCandidate best;
  EXPECT_FALSE(stage_.Retry(job, attempt, 0, best));
  best.copied_word = true;
  const std::optional<Attempt> next = stage_.Retry(job, attempt, 0, best);
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->other_form);
  EXPECT_TRUE(next->Again().other_form);
  EXPECT_FALSE(stage_.Retry(job, *next, 0, best));
  attempt.second_try = true;
  EXPECT_FALSE(stage_.Retry(job, attempt, 0, best));
  // A translation gets its capital back.
  const TranslationCandidate made =
      After(stage_, job, Before(stage_, job, *next), {"viertel", "quarter"});
  EXPECT_EQ(made.translation.hypotheses[0].text, "Viertel");
  EXPECT_THAT(made.translation.text_stages,
              ElementsAre(TextStage::kLetterCase));
}

TEST_F(LetterCaseStageTest, GermanTitlesAreInNormalCase) {
  const TranslationJob job = Opened(stage_, "The Cat Sat There");
  Attempt attempt = Before(stage_, job);
  attempt.readings[0].letter_case = LetterCase::kTitle;
  EXPECT_EQ(After(stage_, job, attempt, {"Da saß die Katze"})
                .translation.hypotheses[0]
                .text,
            "Da saß die Katze");
}

}  // namespace
}  // namespace trivium
