#include "server/translation/pipeline/numbers_stage.h"

#include <fmt/format.h>

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

using testing::ElementsAre;

class NumbersStageTest : public StageTest {
 protected:
  const TranslationOptions options_ = ByteOptions();
  const NumbersStage stage_{*NumberCheck::For("en", "de"), options_};

  // The attempt that follows one whose best hypothesis is `text`.
  Attempt Next(TranslationJob* job, const Attempt& attempt,
               const std::string& text) {
    job->best[0] = After(stage_, *job, attempt, {text});
    std::optional<Attempt> next =
        stage_.Retry(*job, attempt, job->best[0]->losses, *job->best[0]);
    EXPECT_TRUE(next) << text;
    return Before(stage_, *job, next ? *next : Attempt());
  }
};

TEST_F(NumbersStageTest, WritesSeparatorsOfTheTarget) {
  const TranslationJob job = Opened(stage_, "It costs 1,234.50 dollars.");
  const Attempt attempt = Before(stage_, job);
  EXPECT_THAT(ReadTexts(attempt), ElementsAre("It costs 1,234.50 dollars."));
  const TranslationCandidate made =
      After(stage_, job, attempt,
            {"Es kostet 1.234.50 Dollar.", "1,234.50 Dollar kostet es."});
  EXPECT_EQ(made.translation.hypotheses[0].text, "Es kostet 1.234,50 Dollar.");
  EXPECT_EQ(made.translation.hypotheses[1].text, "1.234,50 Dollar kostet es.");
  EXPECT_THAT(made.translation.text_stages, ElementsAre(TextStage::kNumbers));
  EXPECT_FALSE(stage_.Retry(job, attempt, 0, made));
}

TEST_F(NumbersStageTest, LeavesRightNumbersAlone) {
  const TranslationJob job = Opened(stage_, "I saw 3 cats in 2012.");
  const TranslationCandidate made =
      After(stage_, job, Before(stage_, job), {"2012 sah ich drei Katzen."});
  EXPECT_EQ(made.number_faults, 0);
  EXPECT_TRUE(made.translation.text_stages.empty());
}

TEST_F(NumbersStageTest, HoldsWhatIsLost) {
  TranslationJob job =
      Opened(stage_, "Pay £90 and a surcharge of £1,100.50 by 10:30.");
  Attempt attempt = Before(stage_, job);
  attempt = Next(&job, attempt, "Zahle £90 und mehr bis 10:30.");
  EXPECT_THAT(job.best[0]->missing_numbers, ElementsAre(1));
  EXPECT_THAT(ReadTexts(attempt),
              ElementsAre("Pay £90 and a surcharge of <x1> by 10:30."));
  const TranslationCandidate made =
      After(stage_, job, attempt, {"Zahle £90 und <x1> Zuschlag bis 10:30."});
  EXPECT_EQ(made.translation.hypotheses[0].text,
            "Zahle 90 £ und 1.100,50 £ Zuschlag bis 10:30.");
  EXPECT_EQ(made.number_faults, 0);
  EXPECT_THAT(made.translation.text_stages, ElementsAre(TextStage::kNumbers));
}

TEST_F(NumbersStageTest, HoldsInSevenWaysThenGivesUp) {
  TranslationJob job = Opened(stage_, "Pay 90 by 10:30.");
  Attempt attempt = Before(stage_, job);
  for (const char* placeholder : {"<x1>", "{1}", "%1"}) {
    attempt = Next(&job, attempt, "Zahle bis 10:30.");
    EXPECT_THAT(ReadTexts(attempt),
                ElementsAre(fmt::format("Pay {} by 10:30.", placeholder)));
  }
  attempt = Next(&job, attempt, "Zahle bis 10:30.");
  EXPECT_THAT(ReadTexts(attempt), ElementsAre("Pay 90 by 10:30."));
  Request request;
  request.decoding.emplace();
  ASSERT_TRUE(stage_.Ask(job, attempt, &attempt.readings[0], &request).ok());
  ASSERT_EQ(request.decoding->required.size(), 1);
  EXPECT_EQ(PuppetTokenizer().Decode(request.decoding->required[0].forms[0]),
            "90");
  for (const auto& [before, behind] :
       {std::pair("<x", ">"), std::pair("{", "}"), std::pair("%", "")}) {
    attempt = Next(&job, attempt, "Zahle bis 10:30.");
    EXPECT_THAT(
        ReadTexts(attempt),
        ElementsAre(fmt::format("Pay {0}1{1} by {0}2{1}.", before, behind)));
  }
  EXPECT_FALSE(stage_.Retry(job, attempt, 0, *job.best[0]));
}

TEST_F(NumbersStageTest, AddedNumbersHoldAll) {
  TranslationJob job = Opened(stage_, "In 2016 he came.");
  Attempt attempt = Before(stage_, job);
  attempt = Next(&job, attempt, "201 kam er 2016.");
  EXPECT_THAT(job.best[0]->missing_numbers, ElementsAre());
  EXPECT_THAT(ReadTexts(attempt), ElementsAre("In <x1> he came."));
  EXPECT_EQ(After(stage_, job, attempt, {"<x1> kam er."}).number_faults, 0);
}

TEST_F(NumbersStageTest, PlaceholdersOfProtectedSpansAreNoNumbers) {
  TranslationJob job = Opened(stage_, "Pay %d and 90.");
  job.text.parts[0].protected_spans = {{4, 6}};
  Attempt attempt = Before(stage_, job);
  attempt.readings[0].text = "Pay <x1> and 90.";
  job.best[0] = After(stage_, job, attempt, {"Zahle <x1>."});
  EXPECT_THAT(job.best[0]->missing_numbers, ElementsAre(0));
  Attempt next = *stage_.Retry(job, attempt, 0, *job.best[0]);
  next.hold = 2;
  next.readings = {{{0, 14}, "Pay <x1> and 90."}};
  ASSERT_TRUE(stage_.Before(job, &next).ok());
  EXPECT_THAT(ReadTexts(next), ElementsAre("Pay <x1> and {1}."));
  EXPECT_FALSE(stage_.Retry(job, attempt, /*losses=*/1, *job.best[0]))
      << "protected spans come first";
}

TEST_F(NumbersStageTest, AlignmentsMoveWithTheText) {
  const TranslationJob job = Opened(stage_, "in 12,345 houses");
  TranslationCandidate candidate;
  candidate.translation.hypotheses.emplace_back().text = "in 12.45 Häusern";
  candidate.alignments = {{{{3, 8}, {3, 9}, 1}, {{9, 16}, {10, 16}, 1}}};
  ASSERT_TRUE(stage_.After(job, Before(stage_, job), &candidate).ok());
  EXPECT_EQ(candidate.translation.hypotheses[0].text, "in 12.345 Häusern");
  EXPECT_EQ(candidate.alignments[0][0].target, (TextSpan{3, 9}));
  EXPECT_EQ(candidate.alignments[0][1].target, (TextSpan{10, 17}));
}

TEST_F(NumbersStageTest, ATargetPrefixIsContinuedAsItIs) {
  TranslationJob job = Opened(stage_, "It costs 1,234.50.");
  job.prefix.text = "Es";
  const TranslationCandidate made =
      After(stage_, job, Before(stage_, job), {"Es kostet 1.234.50."});
  EXPECT_EQ(made.translation.hypotheses[0].text, "Es kostet 1.234.50.");
}

}  // namespace
}  // namespace trivium
