#include "server/translation/pipeline/markup_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class MarkupStageTest : public StageTest {
 protected:
  static MarkupStage NewStage(bool feeds_pivot = false) {
    TranslationOptions options = ByteOptions();
    options.format = MarkupFormat::kHtml;
    return MarkupStage(options, feeds_pivot);
  }
};

TEST_F(MarkupStageTest, TheModelReadsWhatPeopleRead) {
  const MarkupStage stage = NewStage();
  const TranslationJob job = Opened(stage, "A <b>red</b> &amp; blue hat");
  EXPECT_EQ(job.text.text, "A red & blue hat");
}

TEST_F(MarkupStageTest, TagsWithinASentenceNeedAttention) {
  const MarkupStage stage = NewStage();
  const TranslationJob marked = Opened(stage, "A <b>red</b> hat");
  Attempt attempt = Before(stage, marked);
  EXPECT_TRUE(attempt.needs_tokens);
  Request request;
  EXPECT_TRUE(stage.Ask(marked, attempt, &attempt.readings[0], &request).ok());
  EXPECT_TRUE(attempt.readings[0].aligned);
  EXPECT_FALSE(Before(stage, Opened(stage, "A hat")).needs_tokens);
}

TEST_F(MarkupStageTest, TagsGoWhereTheirWordsWent) {
  const MarkupStage stage = NewStage();
  const TranslationJob job = Opened(stage, "A <b>red</b> hat");
  TranslationCandidate made;
  made.translation.hypotheses.emplace_back().text = "Ein Hut in Rot";
  // "Hut" stands for "hat", "Rot" for "red".
  made.alignments = {{{{4, 7}, {6, 9}, 1}, {{11, 14}, {2, 5}, 1}}};
  ASSERT_TRUE(stage.After(job, Before(stage, job), &made).ok());
  EXPECT_EQ(made.translation.hypotheses[0].text, "Ein Hut in <b>Rot</b>");
}

TEST_F(MarkupStageTest, FindingsAreOfTheTextWithMarkup) {
  const MarkupStage stage = NewStage();
  const TranslationJob job = Opened(stage, "A <b>red</b> hat");
  TranslationCandidate made;
  made.translation.findings.push_back({Check::kRepetition, {2, 5}});
  ASSERT_TRUE(stage.After(job, Before(stage, job), &made).ok());
  EXPECT_EQ(made.translation.findings[0].source, (TextSpan{5, 8}));
}

TEST_F(MarkupStageTest, APivotTextHasNoTags) {
  const MarkupStage stage = NewStage(/*feeds_pivot=*/true);
  const TranslationJob job = Opened(stage, "A <b>red</b> hat");
  const TranslationCandidate made =
      After(stage, job, Before(stage, job), {"Ein roter Hut"});
  EXPECT_EQ(made.translation.hypotheses[0].text, "Ein roter Hut");
}

}  // namespace
}  // namespace trivium
