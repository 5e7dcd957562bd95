#include "server/translation/pipeline/emoji_stage.h"

#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EmojiStageTest : public StageTest {
 protected:
  static std::vector<std::string> Protected(const std::string& text) {
    const TranslationJob job =
        Opened(EmojiStage([] { return absl::OkStatus(); }), text);
    std::vector<std::string> spans;
    for (const TextSpan& span : job.protected_spans) {
      spans.emplace_back(span.Of(text));
    }
    return spans;
  }
};

TEST_F(EmojiStageTest, EmojiAreProtectedWhole) {
  EXPECT_THAT(Protected("Press 1️⃣, 👨‍👩‍👧! A new 🚗"),
              ElementsAre("1️⃣", "👨‍👩‍👧", "🚗"));
  EXPECT_THAT(Protected("🔥🔥🔥 and 🇩🇪🇫🇷"), ElementsAre("🔥🔥🔥", "🇩🇪🇫🇷"));
}

TEST_F(EmojiStageTest, OtherSignsAreNot) {
  EXPECT_THAT(Protected("1 #2 © → 5*3 ü é"), IsEmpty());
}

TEST_F(EmojiStageTest, EmoticonsAreProtectedWhole) {
  EXPECT_THAT(Protected("Hi :-) and ;) or :P, I <3 you (^_^) xD"),
              ElementsAre(":-)", ";)", ":P", "<3", "(^_^)", "xD"));
  EXPECT_THAT(Protected("So ¯\\_(ツ)_/¯ and (╯°□°)╯︵ ┻━┻ or ʕ•ᴥ•ʔ."),
              ElementsAre("¯\\_(ツ)_/¯", "(╯°□°)╯︵ ┻━┻", "ʕ•ᴥ•ʔ"));
}

TEST_F(EmojiStageTest, BracketsAndColonsAreNoEmoticons) {
  EXPECT_THAT(Protected("Really (?) or (...) (see page 8) or (a) (1)–(2): (b)"),
              IsEmpty());
  EXPECT_THAT(Protected("Note: (x) 10:30 (Москва), x < 3 and 5 (50 %)."),
              IsEmpty());
}

TEST_F(EmojiStageTest, TheResultNamesTheStage) {
  EXPECT_TRUE(Opened(EmojiStage([] { return absl::OkStatus(); }), "🚗")
                  .text_stages.contains(TextStage::kEmoji));
  EXPECT_TRUE(Opened(EmojiStage([] { return absl::OkStatus(); }), "a")
                  .text_stages.empty());
}

}  // namespace
}  // namespace trivium
