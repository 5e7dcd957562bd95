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
    const absl::Status status = path.AddResult(Saying({text}), job);
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

TranslationOptions WithTextStages() {
  TranslationOptions options = ByteOptions();
  options.text_stages = true;
  return options;
}

TEST(TextStagesTest, TheModelReadsNoEmojiAtTheEndsOfSentences) {
  const TranslationPath path = PathOf({WithTextStages()});
  auto job = path.Prepare(TextInput("🎉 Buy a 🚗 now. 👍🏽\n🎉 🎉"),
                          std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("Buy a <x1> now."));
  Answer(path, {"Kauf jetzt ein <x1>."}, &*job);
  const TranslatedText result = path.Result(*std::move(job));
  EXPECT_EQ(result.hypotheses[0].text,
            "🎉 Kauf jetzt ein 🚗. 👍🏽\n🎉 🎉");
  EXPECT_THAT(result.text_stages, ElementsAre(TextStage::kEmoji));
}

TEST(TextStagesTest, AnEmojiBeforeTheRestOfItsSentenceIsAWord) {
  const TranslationPath path = PathOf({WithTextStages()});
  auto job = path.Prepare(TextInput("🐶 is my friend. 🐶 Is it?"), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests),
              ElementsAre("<x1> is my friend.", "Is it?"));
}

TEST(TextStagesTest, TextWithoutLettersIsNotAsked) {
  for (const bool split : {true, false}) {
    TranslationOptions options = WithTextStages();
    options.split = split;
    const TranslationPath path = PathOf({options});
    for (const char* const text : {"1 .. 31", "$5.00 $10.00 7,50 €", "| 🎉 |"}) {
      auto job = path.Prepare(TextInput(text), std::nullopt);
      ASSERT_TRUE(job.ok()) << job.status();
      EXPECT_THAT(job->requests, IsEmpty());
      EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text, text);
    }
  }
}

TEST(TextStagesTest, ItemsBetweenMarksAreAskedOneByOne) {
  const TranslationPath path = PathOf({WithTextStages()});
  auto job = path.Prepare(TextInput("Home | Events | 24"), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("Home", "Events"));
  Answer(path, {"Start", "Termine"}, &*job);
  EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text,
            "Start | Termine | 24");
}

TEST(TextStagesTest, SpansAreBytesOfTheCallsText) {
  TranslationOptions options = WithTextStages();
  options.report_sentences = true;
  const TranslationPath path = PathOf({options});
  const std::string text = "\uFEFFDo\u00ADnau ist da. Gut\u200B.";
  auto job = path.Prepare(TextInput(text), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("Donau ist da.", "Gut."));
  Answer(path, {"Danube is here.", "Good."}, &*job);
  const TranslatedText result = path.Result(*std::move(job));
  EXPECT_EQ(result.source, text);
  EXPECT_EQ(result.hypotheses[0].text, "Danube is here. Good.");
  EXPECT_EQ(result.sentences[0].source.Of(text), "Do\u00ADnau ist da.");
  EXPECT_EQ(result.sentences[1].source.Of(text), "Gut\u200B.");
  EXPECT_THAT(result.text_stages, ElementsAre(TextStage::kInvisibleCharacters));
}

TEST(TextStagesTest, InvisibleCharactersOfMarkupStayInItsText) {
  TranslationOptions options = WithTextStages();
  options.format = MarkupFormat::kHtml;
  options.report_sentences = true;
  const TranslationPath path = PathOf({options});
  const std::string text = "<p>Do&shy;nau</p>";
  auto job = path.Prepare(TextInput(text), std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("Donau"));
  Answer(path, {"Danube"}, &*job);
  const TranslatedText result = path.Result(*std::move(job));
  EXPECT_EQ(result.hypotheses[0].text, "<p>Danube</p>");
  EXPECT_EQ(result.sentences[0].source.Of(text), "Do&shy;nau");
}

TEST(TextStagesTest, ATextWithAPrefixGoesWithoutThem) {
  const TranslationPath path = PathOf({WithTextStages()});
  TranslationInput input = TextInput("A 🚗 | b");
  input.prefix.text = "Ein";
  auto job = path.Prepare(input, std::nullopt);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(TextsOf(job->requests), ElementsAre("A 🚗 | b"));
  Answer(path, {" 🚗\uFFFD"}, &*job);
  EXPECT_EQ(path.Result(*std::move(job)).hypotheses[0].text, " 🚗\uFFFD");
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
