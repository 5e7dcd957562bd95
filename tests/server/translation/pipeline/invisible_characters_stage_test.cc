#include "server/translation/pipeline/invisible_characters_stage.h"

#include "tests/server/translation/pipeline/letter_tokenizer.h"
#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class InvisibleCharactersStageTest : public StageTest {
 protected:
  const InvisibleCharactersStage stage_{KnownLetters()};
};

TEST_F(InvisibleCharactersStageTest, TheModelReadsTheTextWithoutThem) {
  const TranslationJob job = Opened(stage_, "Do\u00ADnau\u200B schön");
  EXPECT_EQ(job.text.text, "Donau schön");
  ASSERT_TRUE(job.edited);
  EXPECT_EQ(job.edited->original(), "Do\u00ADnau\u200B schön");
  EXPECT_TRUE(job.text_stages.contains(TextStage::kInvisibleCharacters));
}

TEST_F(InvisibleCharactersStageTest, UnknownSpacesBecomeSpaces) {
  EXPECT_EQ(Opened(stage_, "5\u00A0km \u202Fx").text.text, "5 km  x");
  // A vocabulary of bytes knows them.
  const ByteModel bytes;
  EXPECT_EQ(
      Opened(InvisibleCharactersStage({KnownCharacters::Of(bytes.handle())}),
             "5\u00A0km")
          .text.text,
      "5\u00A0km");
}

TEST_F(InvisibleCharactersStageTest, UnusualSpacesComeBack) {
  const TranslationJob job = Opened(stage_, "x\u00AD 5\u00A0km \u202Fy\u3000z");
  ASSERT_EQ(job.text.spaces.size(), 2u);
  EXPECT_EQ(job.text.spaces[0].span, (TextSpan{3, 4}));
  EXPECT_EQ(job.text.spaces[1].replacement, "\u202F");
  const Attempt attempt = Before(stage_, job);
  EXPECT_EQ(
      After(stage_, job, attempt, {"X, 5 km"}).translation.hypotheses[0].text,
      "X, 5\u00A0km");
  // The model reads the text of a pivot as it reads others.
  const InvisibleCharactersStage pivot(KnownLetters(), {.feeds_pivot = true});
  EXPECT_EQ(
      After(pivot, job, attempt, {"X, 5 km"}).translation.hypotheses[0].text,
      "X, 5 km");
}

TEST_F(InvisibleCharactersStageTest, TheMarkOfALabelsKeyComesBack) {
  const TranslationJob job = Opened(stage_, "Save &As...");
  EXPECT_EQ(job.text.text, "Save As...");
  EXPECT_TRUE(job.text_stages.contains(TextStage::kInvisibleCharacters));
  const TranslationCandidate made =
      After(stage_, job, Before(stage_, job), {"Speichern unter", "Als..."});
  EXPECT_EQ(made.translation.hypotheses[0].text, "&Speichern unter");
  EXPECT_EQ(made.translation.hypotheses[1].text, "&Als...");
  EXPECT_EQ(Opened(InvisibleCharactersStage(KnownLetters(), {.labels = false}),
                   "&File")
                .text.text,
            "&File");
}

TEST_F(InvisibleCharactersStageTest, ControlsAndUnknownHyphensAreReadPlain) {
  EXPECT_EQ(Opened(stage_, std::string("a\0b\x07", 4)).text.text, "a b ");
  EXPECT_EQ(Opened(stage_, "Tues\u2011day\tx\u2010y\n").text.text,
            "Tues-day\tx-y\n");
}

TEST_F(InvisibleCharactersStageTest, AnUnknownCapitalSharpSIsTwoLetters) {
  const TranslationJob job = Opened(stage_, "FUẞGÄNGER");
  EXPECT_EQ(job.text.text, "FUSSGÄNGER");
  EXPECT_FALSE(job.text_stages.contains(TextStage::kInvisibleCharacters));
  EXPECT_TRUE(job.text_stages.contains(TextStage::kLetterCase));
}

TEST_F(InvisibleCharactersStageTest, PricesHaveNoMarksForNoCents) {
  const TranslationJob job = Opened(stage_, "Nur 5,- €, x\u00AD 19.– CHF");
  EXPECT_EQ(job.text.text, "Nur 5 €, x 19 CHF");
  EXPECT_TRUE(job.text_stages.contains(TextStage::kNumbers));
  EXPECT_TRUE(job.text_stages.contains(TextStage::kInvisibleCharacters));
  const TranslationJob alone = Opened(stage_, "5,- €");
  EXPECT_FALSE(alone.text_stages.contains(TextStage::kInvisibleCharacters));
  // The call's own patterns may look for them.
  EXPECT_FALSE(
      Opened(InvisibleCharactersStage(KnownLetters(), {.prices = false}),
             "5,- €")
          .edited);
}

TEST_F(InvisibleCharactersStageTest, OtherTextsStay) {
  const TranslationJob job = Opened(stage_, "Grüße 👨‍👩‍👧");
  EXPECT_FALSE(job.edited);
  EXPECT_TRUE(job.text_stages.empty());
}

TEST_F(InvisibleCharactersStageTest, ALabelMayBeAnElement) {
  TranslationJob job;
  job.markup = *Markup::Parse(MarkupFormat::kHtml, "<p>&amp;File</p>");
  job.text.text = job.markup->plain();
  ASSERT_TRUE(stage_.Open(&job).ok());
  EXPECT_EQ(job.text.text, "\nFile\n");
  EXPECT_EQ(job.text.mnemonic, "") << "the sentence is behind the mark";
  job.markup = *Markup::Parse(MarkupFormat::kHtml, "<p>Save &amp;As</p>");
  job.text.text = job.markup->plain();
  ASSERT_TRUE(stage_.Open(&job).ok());
  EXPECT_EQ(job.text.mnemonic, "&A");
}

TEST_F(InvisibleCharactersStageTest, MarkupIsEditedWhereItIsRead) {
  TranslationJob job;
  job.markup = *Markup::Parse(MarkupFormat::kHtml, "<p>Do&shy;nau</p>");
  job.text.text = job.markup->plain();
  ASSERT_TRUE(stage_.Open(&job).ok());
  EXPECT_EQ(job.text.text, "\nDonau\n");
  EXPECT_EQ(job.markup->text(), "<p>Do&shy;nau</p>");
  EXPECT_FALSE(job.edited);
}

}  // namespace
}  // namespace trivium
