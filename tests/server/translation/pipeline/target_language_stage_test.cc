#include "server/translation/pipeline/target_language_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class TargetLanguageStageTest : public StageTest {
 protected:
  static bool Keeps(const char* target, std::string_view sentence) {
    const TargetLanguageStage stage(*LanguageCheck::For(target));
    TranslationJob job;
    return stage.Keeps(job, sentence) == TextStage::kTargetLanguage;
  }
};

TEST_F(TargetLanguageStageTest, KeepsWhatIsInTheTargetLanguage) {
  EXPECT_TRUE(Keeps("en", "The weather is nice."));
  EXPECT_TRUE(Keeps("de", "Das Wetter ist schön."));
  EXPECT_FALSE(Keeps("de", "The weather is nice."));
  EXPECT_FALSE(Keeps("en", "Das Wetter ist schön."));
}

TEST_F(TargetLanguageStageTest, AQuotationMayBeInAnotherLanguage) {
  EXPECT_TRUE(Keeps("en",
                    "My old friend said \"Wie geht es dir heute?\" to me "
                    "and left the house."));
  EXPECT_FALSE(Keeps("en",
                     "Mein alter Freund sagte „How are you?“ zu mir und "
                     "ging aus dem Haus."));
  EXPECT_FALSE(Keeps("en", "\"Das Wetter ist schön.\""));
}

TEST_F(TargetLanguageStageTest, InDoubtASentenceIsTranslated) {
  EXPECT_FALSE(Keeps("en", "Schlaflos in New York"));
  EXPECT_FALSE(Keeps("en", "Der Pullover hat lange Ärmel."));
  EXPECT_FALSE(Keeps("en", "12345"));
  EXPECT_FALSE(Keeps("en", ""));
}

TEST_F(TargetLanguageStageTest, ATargetPrefixIsContinued) {
  const TargetLanguageStage stage(*LanguageCheck::For("en"));
  TranslationJob job;
  job.prefix.text = "The";
  EXPECT_FALSE(stage.Keeps(job, "The weather is nice."));
}

}  // namespace
}  // namespace trivium
