#include "server/calls/document_texts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

TEST(DocumentTextsTest, TextsAreSentOnceAndStayWithoutTheirMarks) {
  const std::string json = R"(["a <b>c</b>", "d & e", "d & e", "1"])";
  auto texts = DocumentTexts::Read(*FindDocumentFormat("json"), json, {});
  ASSERT_TRUE(texts.ok()) << texts.status();
  ASSERT_EQ(texts->size(), 2u);
  EXPECT_EQ(texts->sent(0), "a <span id=\"0\">c</span>");
  EXPECT_EQ(texts->sent(1), "d &amp; e");
  EXPECT_EQ(texts->shown(1), "d & e");
  EXPECT_EQ(texts->place(1), "line 1 ([1])");
  EXPECT_GE(texts->bytes(), json.size());

  EXPECT_THAT(texts->Set(0, "A C"),
              IsError(absl::StatusCode::kInvalidArgument, "markup"));
  EXPECT_TRUE(texts->Set(1, "D &amp; E").ok());
  EXPECT_EQ(texts->translation(1), "D & E");
  EXPECT_EQ(*texts->Render(), R"(["a <b>c</b>", "D & E", "D & E", "1"])");
}

TEST(DocumentTextsTest, PartsOfPagesAreSentInTheirOwnMarkup) {
  const std::string page =
      "<html><p>one &amp; <b>two</b></p>\n<p>three</p>\n"
      "<img alt=\"a <cat>\"></html>";
  auto texts = DocumentTexts::Read(*FindDocumentFormat("html"), page, {});
  ASSERT_TRUE(texts.ok()) << texts.status();
  ASSERT_EQ(texts->size(), 3u);
  EXPECT_EQ(texts->sent(0), "<html><p>one &amp; <b>two</b></p>");
  EXPECT_EQ(texts->sent(2), "a &lt;cat&gt;");
  EXPECT_TRUE(texts->Set(2, "\"Katze\"").ok());
  EXPECT_EQ(*texts->Render(),
            "<html><p>one &amp; <b>two</b></p>\n<p>three</p>\n"
            "<img alt=\"&quot;Katze&quot;\"></html>");
}

// Short texts that occur often, with long translations.
TEST(DocumentTextsTest, ATranslationFarLargerThanItsDocumentIsRefused) {
  std::string json = "[\"a\"", page;
  for (int i = 0; i < 1000; ++i) {
    json += ",\"a\"";
    page += "<img alt=\"a\">";
  }
  for (const auto& [format, document] :
       {std::pair("json", json + "]"), std::pair("html", page)}) {
    auto texts = DocumentTexts::Read(*FindDocumentFormat(format), document, {});
    ASSERT_TRUE(texts.ok()) << texts.status();
    ASSERT_EQ(texts->size(), 1u);
    EXPECT_GT(texts->held_bytes(), document.size());
    EXPECT_TRUE(texts->Set(0, "longer").ok());
    EXPECT_TRUE(texts->Render().ok());
    EXPECT_TRUE(texts->Set(0, std::string(100'000, 'b')).ok());
    EXPECT_THAT(texts->Render(),
                IsError(absl::StatusCode::kInvalidArgument, "bytes"));
  }
}

}  // namespace
}  // namespace trivium
