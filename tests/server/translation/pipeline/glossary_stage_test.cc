#include "server/translation/pipeline/glossary_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

using testing::ElementsAre;

class GlossaryStageTest : public StageTest {
 protected:
  static GlossaryStage NewStage(bool feeds_pivot = false) {
    TranslationOptions options = ByteOptions();
    options.glossary.emplace().terms.push_back({"hat", "Hut"});
    return GlossaryStage(std::make_shared<Terminology>(*Terminology::Create(
                             *options.glossary, "options.glossary", "en",
                             options.model->model(), nullptr)),
                         options, feeds_pivot);
  }
  // A reading of a text whose tokens are its bytes.
  static Attempt Asked(const Stage& stage, const TranslationJob& job,
                       Request* request) {
    Attempt attempt = Before(stage, job);
    EXPECT_TRUE(attempt.needs_tokens);
    Reading& reading = attempt.readings[0];
    for (size_t i = 0; i < reading.text.size(); ++i) {
      reading.tokens.push_back({i, i + 1});
    }
    request->decoding.emplace();
    EXPECT_TRUE(stage.Ask(job, attempt, &reading, request).ok());
    return attempt;
  }
};

TEST_F(GlossaryStageTest, TheSearchMustWriteATermOfTheSource) {
  const GlossaryStage stage = NewStage();
  const TranslationJob job = Opened(stage, "A red hat");
  Request request;
  Asked(stage, job, &request);
  ASSERT_EQ(request.decoding->required.size(), 1);
  EXPECT_THAT(request.decoding->required[0].source, ElementsAre(6, 7, 8));
  EXPECT_GT(request.decoding->beam_size, 1);
}

TEST_F(GlossaryStageTest, ATextWithoutTermsIsSearchedAsBefore) {
  const GlossaryStage stage = NewStage();
  const TranslationJob job = Opened(stage, "A red coat");
  Request request;
  Asked(stage, job, &request);
  EXPECT_TRUE(request.decoding->required.empty());
  EXPECT_EQ(request.decoding->beam_size, 1);
}

TEST_F(GlossaryStageTest, HypothesesThatMissATermAreTold) {
  const GlossaryStage stage = NewStage();
  const TranslationJob job = Opened(stage, "A red hat");
  Request request;
  const Attempt attempt = Asked(stage, job, &request);
  const TranslationCandidate made =
      After(stage, job, attempt, {"Ein roter Hut", "Eine rote Kappe"});
  ASSERT_EQ(made.translation.term_uses.size(), 1);
  EXPECT_EQ(made.translation.term_uses[0].source, (TextSpan{6, 9}));
  EXPECT_THAT(made.translation.term_uses[0].missing, ElementsAre(1));
}

TEST_F(GlossaryStageTest, APivotTextIsAlignedInsteadOfSearchedForTerms) {
  const GlossaryStage stage = NewStage(/*feeds_pivot=*/true);
  const TranslationJob job = Opened(stage, "A red hat");
  Request request;
  const Attempt attempt = Asked(stage, job, &request);
  EXPECT_TRUE(attempt.readings[0].aligned);
  EXPECT_TRUE(request.decoding->required.empty());
}

}  // namespace
}  // namespace trivium
