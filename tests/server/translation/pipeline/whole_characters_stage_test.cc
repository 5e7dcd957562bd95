#include "server/translation/pipeline/whole_characters_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class WholeCharactersStageTest : public StageTest {
 protected:
  static std::string Written(const std::string& source,
                             const std::string& translation) {
    const WholeCharactersStage stage;
    const TranslationJob job = Opened(stage, source);
    return After(stage, job, Before(stage, job), {translation})
        .translation.hypotheses[0]
        .text;
  }
};

TEST_F(WholeCharactersStageTest, NoReplacementCharacterGoesOut) {
  EXPECT_EQ(Written("a", "Dvo\uFFFDák"), "Dvoák");
  EXPECT_EQ(Written("a", "ein \uFFFD\uFFFD Wort"), "ein Wort");
  EXPECT_EQ(Written("a", "\uFFFD Wort \uFFFD"), "Wort");
  EXPECT_EQ(Written("a", "\uFFFD"), "");
  EXPECT_EQ(Written("a", "Wort"), "Wort");
}

TEST_F(WholeCharactersStageTest, ThoseOfTheSourceStay) {
  EXPECT_EQ(Written("a\uFFFD", "b\uFFFD"), "b\uFFFD");
}

TEST_F(WholeCharactersStageTest, TheAlignmentMoves) {
  const WholeCharactersStage stage;
  const TranslationJob job = Opened(stage, "x y");
  TranslationCandidate candidate;
  candidate.translation.hypotheses.emplace_back().text = "a\uFFFDb c";
  candidate.alignments = {{{{0, 5}, {0, 1}, 1}, {{6, 7}, {2, 3}, 1}}};
  ASSERT_TRUE(stage.After(job, Before(stage, job), &candidate).ok());
  EXPECT_EQ(candidate.alignments[0][0].target, (TextSpan{0, 2}));
  EXPECT_EQ(candidate.alignments[0][1].target, (TextSpan{3, 4}));
}

}  // namespace
}  // namespace trivium
