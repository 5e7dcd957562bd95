#include "server/translation/pipeline/protection_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

using testing::ElementsAre;

class ProtectionStageTest : public StageTest {
 protected:
  ProtectionStage NewStage(bool pieces = true) {
    TranslationOptions options = ByteOptions();
    options.protect = {{ProtectedKind::kPrintf}, {}, pieces};
    return ProtectionStage(
        std::make_shared<SpanProtection>(
            *SpanProtection::Create(*options.protect, "options.protect")),
        options);
  }
};

TEST_F(ProtectionStageTest, TheModelReadsPlaceholders) {
  const ProtectionStage stage = NewStage();
  const TranslationJob job = Opened(stage, "Save %s as %d");
  EXPECT_THAT(ReadTexts(Before(stage, job)), ElementsAre("Save <x1> as <x2>"));
}

TEST_F(ProtectionStageTest, APlaceholderThatTheTextHasIsNotUsed) {
  const ProtectionStage stage = NewStage();
  const TranslationJob job = Opened(stage, "Save %s as <x1>");
  const Attempt attempt = Before(stage, job);
  EXPECT_EQ(attempt.way, 1);
  EXPECT_THAT(ReadTexts(attempt), ElementsAre("Save {1} as <x1>"));
}

TEST_F(ProtectionStageTest, SpansComeBackInTheirPlaces) {
  const ProtectionStage stage = NewStage();
  const TranslationJob job = Opened(stage, "Save %s as %d");
  const TranslationCandidate made =
      After(stage, job, Before(stage, job),
            {"<x2> zu <x1>", "Sichere <x1> als <x2>"});
  EXPECT_EQ(made.translation.hypotheses[0].text, "%d zu %s");
  EXPECT_EQ(made.translation.hypotheses[1].text, "Sichere %s als %d");
  EXPECT_EQ(made.losses, 0);
  EXPECT_FALSE(stage.Retry(job, Before(stage, job), 0, made));
}

TEST_F(ProtectionStageTest, ALostSpanIsToldAndTheNextStyleIsTried) {
  const ProtectionStage stage = NewStage();
  const TranslationJob job = Opened(stage, "Save %s as %d");
  const Attempt attempt = Before(stage, job);
  const TranslationCandidate made =
      After(stage, job, attempt, {"Sichere <x1>, <x1>"});
  EXPECT_EQ(made.losses, 2);
  ASSERT_EQ(made.translation.lost.size(), 2);
  EXPECT_EQ(made.translation.lost[0].count, 2);
  EXPECT_EQ(made.translation.lost[1].text, "%d");
  EXPECT_EQ(made.translation.lost[1].count, 0);
  EXPECT_EQ(made.translation.lost[1].source, (TextSpan{11, 13}));
  const std::optional<Attempt> next = stage.Retry(job, attempt, 2, made);
  ASSERT_TRUE(next);
  EXPECT_THAT(ReadTexts(Before(stage, job, *next)),
              ElementsAre("Save {1} as {2}"));
}

TEST_F(ProtectionStageTest, TheLastWayIsInPieces) {
  const ProtectionStage stage = NewStage();
  const TranslationJob job = Opened(stage, "Save %s as %d");
  Attempt attempt;
  attempt.way = Attempt::kInPieces;
  attempt = Before(stage, job, attempt);
  EXPECT_THAT(ReadTexts(attempt), ElementsAre("Save", "as"));
  EXPECT_FALSE(stage.Retry(job, attempt, 1, {}));
}

TEST_F(ProtectionStageTest, WithoutPiecesNoWayIsLeft) {
  const ProtectionStage stage = NewStage(/*pieces=*/false);
  const TranslationJob job = Opened(stage, "Save %s");
  Attempt attempt;
  attempt.way = Attempt::kInPieces;
  attempt.readings.emplace_back();
  EXPECT_TRUE(absl::IsInvalidArgument(stage.Before(job, &attempt)));
}

}  // namespace
}  // namespace trivium
