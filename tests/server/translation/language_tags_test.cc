#include "server/translation/language_tags.h"

#include <gtest/gtest.h>

#include <string>

namespace trivium {
namespace {

std::string Tagged(const std::string& text) {
  return EditedText(text, LanguageTagEdits(text, /*xml=*/false, "en", "de"))
      .text();
}

TEST(LanguageTagsTest, FollowTheTarget) {
  EXPECT_EQ(Tagged("<html lang=\"en\"><p lang='en-US' class=x>Hi</p></html>"),
            "<html lang=\"de\"><p lang='de' class=x>Hi</p></html>");
  EXPECT_EQ(Tagged("<HTML LANG=EN>"), "<HTML LANG=de>");
  EXPECT_EQ(Tagged("<html xml:lang = \"en\" lang=\"en\">"),
            "<html xml:lang = \"de\" lang=\"de\">");
}

TEST(LanguageTagsTest, OtherAttributesStay) {
  for (const char* const text :
       {"<i lang=\"fr\">chat</i>", "<p data-lang=\"en\">a</p>",
        "<span lang=\"en\" translate=\"no\">cheese</span>",
        "<code lang=en>make</code>", "<a hreflang=\"en\">a</a>", "lang=\"en\"",
        "<p title=\"lang=en\">a</p>", "<p lang>a</p>",
        "<p lang=", "<p lang=\"en"}) {
    EXPECT_EQ(Tagged(text), text);
  }
}

TEST(LanguageTagsTest, FollowTheTargetInXml) {
  const std::string text =
      "<a xml:lang=\"de-DE\"><code lang=\"de\">x</code></a>";
  EXPECT_EQ(
      EditedText(text, LanguageTagEdits(text, /*xml=*/true, "de", "en")).text(),
      "<a xml:lang=\"en\"><code lang=\"en\">x</code></a>");
  EXPECT_TRUE(LanguageTagEdits(text, /*xml=*/true, "de", "").empty());
}

TEST(LanguageTagsTest, TheFirstElementTellsAnUnknownSource) {
  const auto edited = [](const std::string& text) {
    return EditedText(text, LanguageTagEdits(text, /*xml=*/false, "", "de"))
        .text();
  };
  EXPECT_EQ(edited("<!DOCTYPE html><html lang=en><i lang=fr>a</i><p lang=en>b"),
            "<!DOCTYPE html><html lang=de><i lang=fr>a</i><p lang=de>b");
  EXPECT_EQ(edited("<p>a <i lang=fr>b</i></p>"), "<p>a <i lang=fr>b</i></p>");
}

}  // namespace
}  // namespace trivium
