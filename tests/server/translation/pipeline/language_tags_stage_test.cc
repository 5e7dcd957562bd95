#include "server/translation/pipeline/language_tags_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

class LanguageTagsStageTest : public StageTest {};

TEST_F(LanguageTagsStageTest, FollowTheTarget) {
  const LanguageTagsStage stage(MarkupFormat::kHtml, "en", "de");
  const TranslationJob job = Opened(stage, "<p lang=en-GB>Hi</p>");
  EXPECT_EQ(job.text.text, "<p lang=de>Hi</p>");
  EXPECT_EQ(job.edited->original(), "<p lang=en-GB>Hi</p>");
  EXPECT_FALSE(Opened(stage, "<p lang=fr>Hi</p>").edited);
}

}  // namespace
}  // namespace trivium
