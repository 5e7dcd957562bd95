#include "server/translation/invisible_characters.h"

#include <gtest/gtest.h>

#include <string>

#include "server/translation/text_edits.h"

namespace trivium {
namespace {

std::string Without(const std::string& text) {
  std::vector<TextEdit> edits;
  for (const TextSpan& span : NeedlessInvisibleCharacters(text)) {
    edits.push_back({span});
  }
  return EditedText(text, edits).text();
}

TEST(InvisibleCharactersTest, AreLeftOutOfWords) {
  for (const char* const invisible :
       {"\u00AD", "\u200B", "\u200C", "\u200D", "\u2060", "\uFEFF", "\u200E",
        "\u200F", "\u202A", "\u202C", "\u2066", "\u2069", "\u034F", "\uFE0F",
        "\u061C", "\u180E", "\u2063", "\u00AD\u200B\u2060"}) {
    const std::string at = invisible;
    EXPECT_EQ(Without("Don" + at + "au, " + at + "Москва" + at + "."),
              "Donau, Москва.");
    EXPECT_EQ(Without(at + "A 5" + at), "A 5");
  }
}

TEST(InvisibleCharactersTest, StayWhereAScriptNeedsThem) {
  for (const char* const text : {
           "می\u200Cخواهم",     // Persian
           "क\u094D\u200Dष",    // Devanagari
           "ไทย\u200Bภาษา",     // Thai
           "\u200Fשלום\u200F",  // Hebrew
           "\u2067שלום\u2069",
       }) {
    EXPECT_EQ(Without(text), text);
  }
}

TEST(InvisibleCharactersTest, StayInEmoji) {
  for (const char* const text :
       {"Go 👨‍👩‍👧 1️⃣ ❤️ 🏴󠁧󠁢󠁳󠁣󠁴󠁿!",
        "a1️⃣", "☀️"}) {
    EXPECT_EQ(Without(text), text);
  }
}

TEST(InvisibleCharactersTest, BytesThatAreNoTextStay) {
  EXPECT_EQ(Without("a\xC2z\xFF\xE2\x80"), "a\xC2z\xFF\xE2\x80");
}

TEST(InvisibleCharactersTest, FindsUnusualSpaces) {
  const std::string text = "a b\u00A0c\u202Fd\u3000e";
  std::string found;
  for (const TextSpan& span : UnusualSpaces(text)) {
    found += std::string(span.Of(text)) + "|";
  }
  EXPECT_EQ(found, "\u00A0|\u202F|\u3000|");
}

}  // namespace
}  // namespace trivium
