#include "server/translation/emoji.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

size_t SizeOf(const char* emoji) {
  // What follows does not count.
  return EmojiSize(std::string(emoji) + " and more");
}

TEST(EmojiTest, FindsEmojiWhole) {
  for (const char* const emoji : {
           "🚗",
           "☀️",
           "❤️",
           "1️⃣",
           "#️⃣",
           "*️⃣",
           "1⃣",
           "👍",
           "👍🏽",
           "🙏🏿",
           "👨‍👩‍👧‍👦",
           "👩🏽‍🚀",
           "❤️‍🔥",
           "🏳️‍🌈",
           "🏴‍☠️",
           "🇩🇪",
           "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
           "©️",
           "⌚",
           "🧑🏻‍🤝‍🧑🏿",
           "\uE001",  // an icon of some font
       }) {
    EXPECT_EQ(SizeOf(emoji), std::string_view(emoji).size()) << emoji;
  }
}

TEST(EmojiTest, SignsAndLettersAreNone) {
  for (const char* const text :
       {"", "1", "#", "*", "a", "é", "©", "™", "❤", "→", "猫", "\xF0\x9F",
        "☺︎", "\u200D", "\uFE0F", "1\uFE0F", "🇩"}) {
    EXPECT_EQ(EmojiSize(text), 0) << text;
  }
}

TEST(EmojiTest, AJoinerWithNothingBehindItIsNoPart) {
  EXPECT_EQ(EmojiSize("👍\u200D!"), std::string_view("👍").size());
  EXPECT_EQ(EmojiSize("🇩🇪🇫🇷"), std::string_view("🇩🇪").size());
}

TEST(EmojiTest, ARowHasNoSpaces) {
  EXPECT_EQ(EmojiRowSize("🔥🔥1️⃣ 🔥"),
            std::string_view("🔥🔥1️⃣").size());
  EXPECT_EQ(EmojiRowSize("x🔥"), 0);
}

}  // namespace
}  // namespace trivium
