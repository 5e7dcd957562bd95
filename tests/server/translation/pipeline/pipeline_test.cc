// The loop around the stages, and paths of one model and of two.
#include "server/translation/pipeline/pipeline.h"

#include <gmock/gmock.h>

#include "server/translation/pipeline/translation_path.h"
#include "tests/server/translation/pipeline/byte_model.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TranslationPath PathOf(std::vector<TranslationOptions> steps) {
  TranslationPath path(std::move(steps), {});
  const absl::Status status = path.Compose();
  EXPECT_TRUE(status.ok()) << status;
  return path;
}

// Answers the requests of a round.
void Answer(const TranslationPath& path, const std::vector<std::string>& texts,
            TranslationPath::Job* job) {
  job->requests.clear();
  for (const std::string& text : texts) {
    const absl::Status status = path.Take(Saying({text}), job);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(PipelineTest, SentencesAreAskedOneByOneAndJoined) {
  const TranslationPath path = PathOf({ByteOptions()});
  auto job = path.Prepare(TextInput("One cat.  Two cats.\n"), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("One cat.", "Two cats."));
  Answer(path, {"Eine Katze.", "Zwei Katzen."}, &*job);
  EXPECT_TRUE(job->done());
  EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text,
            "Eine Katze.  Zwei Katzen.\n");
}

TEST(PipelineTest, ABlankTextAsksNothing) {
  const TranslationPath path = PathOf({ByteOptions()});
  auto job = path.Prepare(TextInput(" \n"), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(job->done());
  EXPECT_THAT(job->requests, IsEmpty());
  EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text, " \n");
}

TEST(PipelineTest, ASentenceThatIsTooLongIsCutAtAClause) {
  const TranslationPath path = PathOf({ByteOptions()});
  auto job = path.Prepare(
      TextInput("It was raining all the night and day, and so we stayed at "
                "home with our cats."),
      std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests),
              ElementsAre("It was raining all the night and day,",
                          "and so we stayed at home with our cats."));
}

TEST(PipelineTest, ALostSpanIsAskedAgainUntilItComesThrough) {
  TranslationOptions options = ByteOptions();
  options.protect = {{ProtectedKind::kPrintf}, {}};
  const TranslationPath path = PathOf({options});
  auto job = path.Prepare(TextInput("Save %s"), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("Save <x1>"));
  Answer(path, {"Sichern"}, &*job);
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("Save {1}"));
  Answer(path, {"Sichere {1}"}, &*job);
  EXPECT_TRUE(job->done());
  const TranslatedText result = path.Result(*std::move(job));
  EXPECT_EQ(result.hypotheses[0].text, "Sichere %s");
  EXPECT_THAT(result.lost, IsEmpty());
}

TEST(PipelineTest, TheFirstOfEquallyBadCandidatesIsKept) {
  TranslationOptions options = ByteOptions();
  options.protect = {{ProtectedKind::kPrintf}, {}, /*pieces=*/false};
  const TranslationPath path = PathOf({options});
  auto job = path.Prepare(TextInput("Save %s"), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  Answer(path, {"Erst"}, &*job);
  Answer(path, {"Dann"}, &*job);
  Answer(path, {"Zuletzt"}, &*job);
  EXPECT_TRUE(job->done());
  EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text, "Erst");
}

TEST(PipelineTest, TheSecondModelReadsTheFirstOnesTranslations) {
  TranslationOptions first = ByteOptions(), second = ByteOptions();
  second.model =
      std::make_shared<ByteModel>(std::make_unique<PuppetModel>(), "second");
  const TranslationPath path = PathOf({first, second});
  auto job = path.Prepare(TextInput("One cat. Two."), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->requests[0].model->name, "bytes");
  Answer(path, {"Eine Katze.", "Zwei."}, &*job);
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("Eine Katze.", "Zwei."));
  EXPECT_EQ(job->requests[0].model->name, "second");
  Answer(path, {"Un chat.", "Deux."}, &*job);
  EXPECT_TRUE(job->done());
  EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text, "Un chat. Deux.");
}

TEST(PipelineTest, IdsAreOnePart) {
  TranslationOptions options = ByteOptions();
  const TranslationPath path = PathOf({options});
  TranslationInput input;
  input.path = "inputs[0]";
  input.ids = {{70, 71}, {}};
  auto job = path.Prepare(input, std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(job->requests[0].source.ids, ElementsAre(70, 71));
  Answer(path, {"BC"}, &*job);
  EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text, "BC");
}

}  // namespace
}  // namespace trivium
