#include "server/translation/pipeline/placeholder_spaces_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class PlaceholderSpacesStageTest : public StageTest {
 protected:
  // The stage's text for what the model writes for `source`, of which `spans`
  // are protected.
  std::string Written(const std::string& source, std::vector<TextSpan> spans,
                      const std::string& text) {
    TranslationJob job = Opened(stage_, source);
    job.text.parts[0].protected_spans = std::move(spans);
    const Attempt attempt = Before(stage_, job);
    return After(stage_, job, attempt, {text}).translation.hypotheses[0].text;
  }

  const PlaceholderSpacesStage stage_;
};

TEST_F(PlaceholderSpacesStageTest, WordsAreParted) {
  EXPECT_EQ(Written("Zoe Kravitz met Eve here", {{0, 3}, {16, 19}},
                    "<x1>Kravitz traf hier<x2>"),
            "<x1> Kravitz traf hier <x2>");
}

TEST_F(PlaceholderSpacesStageTest, WhatTheSourceJoinsStays) {
  EXPECT_EQ(Written("Zoe's car", {{0, 3}}, "<x1>s Auto"), "<x1>s Auto");
  EXPECT_EQ(Written("the works of Zoe are", {{13, 16}}, "<x1>s Werke sind"),
            "<x1>s Werke sind")
      << "a genitive";
  EXPECT_EQ(Written("pre-Zoe, 5", {{4, 7}}, "vor<x1>en, 5"), "vor<x1>en, 5");
  EXPECT_EQ(Written("a Zoe b", {{2, 5}}, "„<x1>“-Haus"), "„<x1>“-Haus");
  EXPECT_EQ(Written("a Zoe b", {{2, 5}}, "猫<x1>犬"), "猫<x1>犬");
}

TEST_F(PlaceholderSpacesStageTest, AlignmentsMove) {
  TranslationJob job = Opened(stage_, "Zoe car");
  job.text.parts[0].protected_spans = {{0, 3}};
  TranslationCandidate candidate;
  candidate.translation.hypotheses.emplace_back().text = "<x1>Auto";
  candidate.alignments = {{{{0, 4}, {0, 3}, 1}, {{4, 8}, {4, 7}, 1}}};
  ASSERT_TRUE(stage_.After(job, Before(stage_, job), &candidate).ok());
  EXPECT_EQ(candidate.translation.hypotheses[0].text, "<x1> Auto");
  EXPECT_EQ(candidate.alignments[0][1].target, (TextSpan{5, 9}));
}

}  // namespace
}  // namespace trivium
