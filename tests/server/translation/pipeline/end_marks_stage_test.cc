#include "server/translation/pipeline/end_marks_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class EndMarksStageTest : public StageTest {
 protected:
  // The stage's text for what the model writes for `source`.
  std::string Written(const std::string& source, const std::string& text,
                      std::vector<TextSpan> spans = {}) {
    TranslationJob job = Opened(stage_, source);
    job.text.parts[0].protected_spans = std::move(spans);
    const Attempt attempt = Before(stage_, job);
    return After(stage_, job, attempt, {text}).translation.hypotheses[0].text;
  }

  const EndMarksStage stage_;
};

TEST_F(EndMarksStageTest, MarksAreTheSources) {
  EXPECT_EQ(Written("Loading…", "Lädt..."), "Lädt…");
  EXPECT_EQ(Written("Loading...", "Lädt.."), "Lädt...");
  EXPECT_EQ(Written("Stop!!!", "Halt!"), "Halt!!!");
  EXPECT_EQ(Written("Really?!", "Wirklich?"), "Wirklich?!");
  EXPECT_EQ(Written("He said: \"Wait…\"", "Er sagte: „Warte....“"),
            "Er sagte: „Warte…“");
  EXPECT_EQ(Written("(and so on...)", "(und so weiter.)"),
            "(und so weiter...)");
}

TEST_F(EndMarksStageTest, OthersStay) {
  EXPECT_EQ(Written("Stop.", "Halt!"), "Halt!");
  EXPECT_EQ(Written("Stop!", "Halt!!"), "Halt!!");
  EXPECT_EQ(Written("If I knew...", "Wüsste ich das?"), "Wüsste ich das?");
  EXPECT_EQ(Written("Loading...", "Lädt"), "Lädt");
  EXPECT_EQ(Written("Loading...", ""), "");
  EXPECT_EQ(Written("...", "Nichts."), "Nichts.");
  EXPECT_EQ(Written("See a.b...", "Siehe <x1>.", {{4, 10}}), "Siehe <x1>.")
      << "of a protected span";
}

TEST_F(EndMarksStageTest, AlignmentsMove) {
  TranslationJob job = Opened(stage_, "Stop!!!");
  TranslationCandidate candidate;
  candidate.translation.hypotheses.emplace_back().text = "Halt!";
  candidate.alignments = {{{{0, 4}, {0, 4}, 1}, {{4, 5}, {4, 7}, 1}}};
  ASSERT_TRUE(stage_.After(job, Before(stage_, job), &candidate).ok());
  EXPECT_EQ(candidate.alignments[0][0].target, (TextSpan{0, 4}));
  EXPECT_EQ(candidate.alignments[0][1].target, (TextSpan{4, 7}));
}

TEST_F(EndMarksStageTest, APrefixIsTheClients) {
  TranslationJob job = Opened(stage_, "Stop!!!");
  job.prefix.text = "Halt!";
  const Attempt attempt = Before(stage_, job);
  EXPECT_EQ(
      After(stage_, job, attempt, {"Halt!"}).translation.hypotheses[0].text,
      "Halt!");
}

}  // namespace
}  // namespace trivium
