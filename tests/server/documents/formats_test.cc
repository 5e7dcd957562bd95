// What the goldens do not have: formats that the Python client never had,
// plurals, marks, encodings, and documents that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/documents/document.h"
#include "server/documents/document_segment.h"
#include "server/documents/zip_package.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Document>> ReadAs(
    const std::string& format, const std::string& data,
    const DocumentOptions& options = {}) {
  return FindDocumentFormat(format)->read(data, options);
}

std::vector<std::string> TextsOf(const std::string& format,
                                 const std::string& data,
                                 const DocumentOptions& options = {}) {
  std::vector<std::string> texts;
  const auto document = ReadAs(format, data, options);
  EXPECT_TRUE(document.ok()) << document.status();
  if (!document.ok()) return texts;
  for (const DocumentSegment* one : (*document)->segments()) {
    texts.push_back(one->sent.text);
  }
  return texts;
}

// The document with each text in capitals, but for tags and entities.
std::string InCapitals(const std::string& format, const std::string& data,
                       const DocumentOptions& options = {}) {
  const auto document = ReadAs(format, data, options);
  EXPECT_TRUE(document.ok()) << document.status();
  if (!document.ok()) return "";
  std::vector<std::optional<std::string>> translations;
  for (const DocumentSegment* one : (*document)->segments()) {
    std::string text = one->sent.text;
    bool in_tag = false;
    for (char& c : text) {
      if (c == '<' || c == '&') in_tag = true;
      if (!in_tag) c = absl::ascii_toupper(c);
      if (c == '>' || c == ';') in_tag = false;
    }
    translations.emplace_back(std::move(text));
  }
  const auto out = (*document)->Render(translations);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.value_or("");
}

std::string ErrorOf(const std::string& format, const std::string& data) {
  const auto document = ReadAs(format, data);
  EXPECT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(document.status().message());
}

TEST(DocumentFormatsTest, AreToldByTheirFilesNames) {
  EXPECT_EQ(DocumentFormatOfFile("a/b.c/Report.DOCX")->name, "docx");
  EXPECT_EQ(DocumentFormatOfFile("index.htm")->name, "html");
  EXPECT_EQ(DocumentFormatOfFile("docx"), nullptr);
  EXPECT_EQ(DocumentFormatOfFile("a.exe"), nullptr);
  EXPECT_EQ(FindDocumentFormat("tmx"), nullptr);
  EXPECT_THAT(DocumentFormatNames(), HasSubstr("markdown, po"));
}

TEST(VttTest, TranslatesCuesAndKeepsNotesStylesAndVoices) {
  const std::string head =
      "WEBVTT - A title\n\nNOTE not this\n\nSTYLE\n::cue { color: red }\n\n"
      "intro\n00:01.000 --> 00:02.000 align:left\n";
  EXPECT_EQ(InCapitals("vtt", head + "<v Anna>hi &amp; <b>you</b>\nthere\n"),
            head + "<v Anna>HI &amp; <b>YOU</b>\nTHERE\n");
  EXPECT_THAT(ErrorOf("vtt", "WEBVTT\n\nhello\n"), HasSubstr("no cue"));
}

TEST(PoTest, MarksWhatItFillsAsFuzzyByOption) {
  DocumentOptions options;
  options.mark_fuzzy = true;
  EXPECT_EQ(InCapitals("po",
                       "#: a.c\nmsgid \"a\"\nmsgstr \"\"\n\n"
                       "msgid \"b\"\nmsgstr \"c\"\n",
                       options),
            "#: a.c\n#, fuzzy\nmsgid \"a\"\nmsgstr \"A\"\n\n"
            "msgid \"b\"\nmsgstr \"c\"\n");
}

TEST(JsonTest, TranslatesTheBranchesOfPluralsAndKeepsTheirKeys) {
  const std::string plural =
      R"(["{n, plural, offset:1 =0 {no file} one {# file} other {# <b>big</b> )"
      R"(files in {box}}}"])";
  EXPECT_THAT(TextsOf("json", plural),
              ElementsAre("no file", "<code id=\"0\"></code> file",
                          "<code id=\"0\"></code> <span id=\"1\">big</span> "
                          "files in {box}"));
  EXPECT_EQ(InCapitals("json", R"(["a {x, select, y {b {n, plural, one {c} )"
                               R"(other {d}}} other {e}}"])"),
            R"(["A {x, select, y {B {n, plural, one {C} other {D}}} )"
            R"(other {E}}"])");
  // Not closed: an ordinary text.
  EXPECT_THAT(TextsOf("json", R"(["{n, plural, one {a}"])"),
              ElementsAre("{n, plural, one {a}"));
}

TEST(HtmlTest, KeepsEntitiesOfUnknownNames) {
  EXPECT_EQ(InCapitals("html", "<p>a &check; b &nbsp</p>"),
            "<p>A &check; B &nbsp;</p>");
}

TEST(HtmlTest, GivesUpOnPagesWhoseQuotesAreNeverClosed) {
  std::string page;
  for (int i = 0; i < 20'000; ++i) page += "<a \">\" ";
  EXPECT_THAT(ErrorOf("html", page), HasSubstr("quotes"));
}

TEST(XmlTest, EntitiesThatAreMadeOfOthersOrAreElsewhereAreRefused) {
  const std::string rest = "]><xliff>&b;</xliff>";
  EXPECT_THAT(ErrorOf("xliff",
                      "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b "
                      "'&a;&a;&a;'>" +
                          rest),
              HasSubstr("entity"));
  EXPECT_THAT(ErrorOf("xliff",
                      "<!DOCTYPE x [<!ENTITY b SYSTEM "
                      "'file:///etc/passwd'>" +
                          rest),
              HasSubstr("another file"));
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += "<a>";
  EXPECT_THAT(ErrorOf("xliff", deep), HasSubstr("deep"));
}

TEST(EncodingsTest, AreToldByMarksAndDeclarations) {
  DocumentOptions latin;
  latin.encoding = "latin-1";
  const auto document = ReadAs("text", "caf\xE9", latin);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ((*document)->segments().front()->sent.text, "caf\xC3\xA9");
  const std::vector<std::optional<std::string>> other = {"\xE6\x97\xA5"};
  const auto lacking = (*document)->Render(other);
  EXPECT_THAT(std::string(lacking.status().message()),
              HasSubstr("'\xE6\x97\xA5', which latin-1 lacks"));
  latin.encoding = "klingon";
  EXPECT_FALSE(ReadAs("text", "a", latin).ok());
}

TEST(SegmentsTest, RefuseMarkupThatDoesNotComeBack) {
  const auto document = ReadAs("html", "a <b>c</b> <img> d");
  ASSERT_TRUE(document.ok());
  const DocumentSegment& segment = *(*document)->segments().front();
  EXPECT_EQ(segment.sent.text, "a <span id=\"0\">c</span> <img id=\"1\"> d");
  for (const char* broken :
       {"a <span id=\"0\">c</span> d", "a c <img id=\"1\"> d",
        "<span id=\"0\">c</span> <img id=\"1\"> <img id=\"1\">",
        "<img id=\"0\"></span> <img id=\"1\">", "<span id=\"0\"><img id=\"1\">",
        "<span id=\"0\"></span><img id=\"99999999999999999999\">",
        "<span id=\"0\"></span><img id=\"1\"><span id=\"2\"></span>"}) {
    EXPECT_FALSE(segment.Parts(broken).ok()) << broken;
  }
}

TEST(PackagesTest, AreRefusedIfTheyUnpackToTooMuch) {
  EXPECT_THAT(ErrorOf("docx", "hello"), HasSubstr("DOCX"));
  EXPECT_THAT(ErrorOf("pptx", "PK\x06\x07"), HasSubstr("PPTX"));
}

}  // namespace
}  // namespace trivium
