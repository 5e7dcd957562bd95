#include "server/translation/pipeline/checks_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class ChecksStageTest : public StageTest {
 protected:
  static ChecksStage NewStage(bool second_try = false) {
    TranslationOptions options = ByteOptions();
    options.checks.emplace().kinds = {Check::kRepetition};
    if (second_try) options.checks->second_try.emplace();
    return ChecksStage(options);
  }
  static Attempt Asked(const Stage& stage, const TranslationJob& job) {
    Attempt attempt = Before(stage, job);
    attempt.readings[0].input.emplace();
    return attempt;
  }
};

TEST_F(ChecksStageTest, FindsWhatIsSuspiciousInEachHypothesis) {
  const ChecksStage stage = NewStage();
  const TranslationJob job = Opened(stage, "The cat sat there.");
  const TranslationCandidate made =
      After(stage, job, Asked(stage, job),
            {"Die Katze saß da.", "Die Katze Katze Katze Katze."});
  ASSERT_EQ(made.translation.findings.size(), 1);
  EXPECT_EQ(made.translation.findings[0].hypothesis, 1);
  EXPECT_EQ(made.translation.findings[0].source, (TextSpan{0, 18}));
  EXPECT_EQ(made.findings(), 0);
}

TEST_F(ChecksStageTest, APartWithFindingsIsTriedASecondTimeAsItWasRead) {
  const ChecksStage stage = NewStage(/*second_try=*/true);
  const TranslationJob job = Opened(stage, "The cat sat there.");
  const Attempt attempt = Asked(stage, job);
  const TranslationCandidate made =
      After(stage, job, attempt, {"Die Katze Katze Katze Katze."});
  const std::optional<Attempt> next = stage.Retry(job, attempt, 0, made);
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->second_try);
  EXPECT_TRUE(next->readings[0].input);
  EXPECT_FALSE(stage.Retry(job, *next, 0, made)) << "only once";
}

TEST_F(ChecksStageTest, AGoodTranslationIsNotTriedAgain) {
  const ChecksStage stage = NewStage(/*second_try=*/true);
  const TranslationJob job = Opened(stage, "The cat sat there.");
  const Attempt attempt = Asked(stage, job);
  const TranslationCandidate made =
      After(stage, job, attempt, {"Die Katze saß da."});
  EXPECT_FALSE(stage.Retry(job, attempt, 0, made));
}

TEST_F(ChecksStageTest, NothingIsFoundInABlankPart) {
  const ChecksStage stage = NewStage();
  const TranslationJob job = Opened(stage, "The cat sat there.");
  const TranslationCandidate made =
      After(stage, job, Attempt(), {"Die Katze Katze Katze Katze."});
  EXPECT_TRUE(made.translation.findings.empty());
}

}  // namespace
}  // namespace trivium
