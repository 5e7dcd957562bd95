// Formats without goldens, plurals, marks, encodings, and documents that are
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/documents/document.h"
#include "server/documents/document_segment.h"
#include "server/documents/zip_package.h"
#include "tests/server/documents/document_helpers.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DocumentFormatsTest, AreToldByTheirFilesNames) {
  EXPECT_EQ(DocumentFormatOfFile("a/b.c/Report.DOCX")->name, "docx");
  EXPECT_EQ(DocumentFormatOfFile("de.pot")->name, "po");
  EXPECT_EQ(DocumentFormatOfFile("docx"), nullptr);
  EXPECT_EQ(DocumentFormatOfFile("a.exe"), nullptr);
  EXPECT_EQ(FindDocumentFormat("tmx"), nullptr);
  EXPECT_EQ(FindDocumentFormat("txt")->name, "text");
  EXPECT_EQ(FindDocumentFormat(".md")->name, "markdown");
  EXPECT_EQ(FindDocumentFormat(""), nullptr);
  EXPECT_THAT(DocumentFileEndings(),
              HasSubstr(".json, .md, .markdown, .odp, "));
}

TEST(SrtTest, CuesWithoutAnEmptyLineBetweenAreApart) {
  const std::string times = "00:00:01,000 --> 00:00:02,000\n";
  EXPECT_EQ(
      InCapitals("srt", "1\n" + times + "one two\n2\n" + times + "three\n" +
                            times + "four"),
      "1\n" + times + "ONE TWO\n2\n" + times + "THREE\n" + times + "FOUR");
  // A number of the text, and a text behind an empty line.
  EXPECT_EQ(InCapitals("srt", "1\n" + times + "a\n2\nb\n\nc\n\n2\n" + times),
            "1\n" + times + "A\n2\nB\n\nC\n\n2\n" + times);
}

TEST(SrtTest, RowsThatBeginAnewAreTextsOfTheirOwn) {
  EXPECT_THAT(
      TextsOf("srt",
              "1\n00:00:01,000 --> 00:00:02,000\nANNA: the house\nis red.\n"
              "[door opens]\nSo what?\n<i>(LAUGHS)</i>\n♪ la\nla ♪\n"
              "the house\n(red) is\nold"),
      ElementsAre("ANNA: the house is red.", "[door opens]", "So what?",
                  "(LAUGHS)", "♪ la la ♪", "the house (red) is old"));
}

TEST(SrtTest, MarksOfAnotherSpeakerStay) {
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  EXPECT_EQ(InCapitals("srt", times + ">> hello, and\nwelcome.\n>>> a > b\n"),
            times + ">> HELLO, AND\nWELCOME.\n>>> A > B\n");
  const std::string cue = "WEBVTT\n\n00:01.000 --> 00:02.000\n";
  EXPECT_EQ(InCapitals("vtt", cue + "&gt;&gt; hello\n>> you\n"),
            cue + "&gt;&gt; HELLO\n>> YOU\n");
}

TEST(VttTest, TranslatesCuesAndKeepsNotesStylesAndVoices) {
  const std::string head =
      "WEBVTT - A title\n\nNOTE not this\n\nSTYLE\n::cue { color: red }\n\n"
      "intro\n00:01.000 --> 00:02.000 align:left\n";
  EXPECT_EQ(InCapitals("vtt", head + "<v Anna>hi &amp; <b>you</b>\nthere\n"),
            head + "<v Anna>HI &amp; <b>YOU</b>\nTHERE\n");
  ExpectRefused("vtt", "WEBVTT\n\nhello\n", "line 1");
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

TEST(PoTest, NewTranslationsMayBeMarkedAsFuzzy) {
  EXPECT_EQ(InCapitals("po",
                       "msgid \"a\"\nmsgstr \"\"\n\n"
                       "msgid \"b\"\nmsgstr \"c\"\n",
                       {.mark_fuzzy = true}),
            "#, fuzzy\nmsgid \"a\"\nmsgstr \"A\"\n\n"
            "msgid \"b\"\nmsgstr \"c\"\n");
}

TEST(PoTest, AnEntryHasAFewForms) {
  // Each would take a copy of the text.
  std::string forms = "msgid \"a\"\nmsgid_plural \"b\"\n";
  for (int i = 0; i < 16; ++i)
    absl::StrAppend(&forms, "msgstr[", i, "] \"\"\n");
  EXPECT_EQ(TextsOf("po", forms + "\n" + forms).size(), 32u);
  ExpectRefused("po", forms + "msgstr[16] \"\"\n", "line 19");
  // Of lines without forms there may be many.
  EXPECT_THAT(TextsOf("po", Repeated("msgctxt \"a\"\n", 200'000)),
              ElementsAre());
}

TEST(XliffTest, TargetsWithoutWordsAreEmpty) {
  const auto unit = [](const std::string& target) {
    return R"(<xliff version="1.2"><file source-language="en" )"
           R"(target-language="de"><trans-unit id="1"><source>a b</source>)"
           R"(<seg-source><mrk mtype="seg" mid="1">a</mrk> )"
           R"(<mrk mtype="seg" mid="2">b</mrk></seg-source>)" +
           target + "</trans-unit></file></xliff>";
  };
  const std::string empty =
      R"(<target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"></mrk>)"
      "</target>";
  EXPECT_EQ(InCapitals("xliff", unit(empty)),
            unit(R"(<target><mrk mtype="seg" mid="1">A</mrk> )"
                 R"(<mrk mtype="seg" mid="2">B</mrk></target>)"));
  for (const char* const target :
       {R"(<target><mrk mtype="seg" mid="1">x</mrk></target>)",
        R"(<target><x id="1"/></target>)"}) {
    EXPECT_EQ(InCapitals("xliff", unit(target)), unit(target));
  }
}

TEST(XliffTest, AUnitAroundAnotherHasNotItsSource) {
  EXPECT_THAT(
      TextsOf("xliff", R"(<xliff version="1.2"><file source-language="en">)" +
                           Repeated("<trans-unit>", 50) +
                           "<source>a b</source>" +
                           Repeated("</trans-unit>", 50) + "</file></xliff>"),
      ElementsAre("a b"));
}

// A file of Qt with one message.
std::string Ts(const std::string& message) {
  return "<?xml version=\"1.0\"?>\n<!DOCTYPE TS>\n<TS version=\"2.1\">"
         "<context><name>Main</name>\n    " +
         message + "\n</context></TS>\n";
}

TEST(QtTest, EmptyTranslationsAreFilled) {
  const std::string source =
      "<message><location line=\"3\"/><source>&amp;a &lt;b>c&lt;/b></source>";
  EXPECT_EQ(TextsOf("ts", Ts(source + "<translation type=\"unfinished\">"
                                      "</translation></message>"))
                .size(),
            1u);
  EXPECT_EQ(InCapitals("ts", Ts(source + "<translation type=\"unfinished\">"
                                         "</translation></message>")),
            Ts(source + "<translation type=\"unfinished\">&amp;A &lt;b>C"
                        "&lt;/b></translation></message>"));
  EXPECT_EQ(InCapitals("ts", Ts("<message><source>a</source>"
                                "<translation /></message>")),
            Ts("<message><source>a</source><translation>A</translation>"
               "</message>"));
}

TEST(QtTest, EachFormOfANumberIsFilled) {
  EXPECT_EQ(InCapitals("ts", Ts("<message numerus=\"yes\"><source>%n a</source>"
                                "<translation>\n<numerusform></numerusform>\n"
                                "<numerusform/></translation></message>")),
            Ts("<message numerus=\"yes\"><source>%n a</source>"
               "<translation>\n<numerusform>%N A</numerusform>\n"
               "<numerusform>%N A</numerusform></translation></message>"));
}

TEST(QtTest, OtherMessagesStay) {
  for (const std::string message :
       {"<source>a</source><translation>x</translation>",
        "<source>a</source><translation type=\"vanished\"></translation>",
        "<source>a<byte value=\"x1b\"/></source><translation/>",
        "<source> </source><translation/>", "<source>a</source>"}) {
    const std::string file = Ts("<message>" + message + "</message>");
    EXPECT_EQ(InCapitals("ts", file), file);
  }
  ExpectRefused("ts", "<x/>", "line 1");
}

TEST(HtmlTest, PagesAreCutBeforeBlocksThatMayBeTranslated) {
  EXPECT_THAT(TextsOf("html",
                      "<!doctype html><title>t</title>\n<p>a <b>b</b>\n<p>c</p>"
                      "<div translate=no><p>d</p><p>e</p></div><pre>f</pre>"
                      "<script>'<p>g'</script><hr>1<hr> h <i>i</i>"),
              ElementsAre("<!doctype html><title>t</title>", "<p>a <b>b</b>",
                          "<p>c</p>",
                          "<div translate=no><p>d</p><p>e</p></div><pre>f</pre>"
                          "<script>'<p>g'</script><hr>1<hr> h <i>i</i>"));
}

TEST(HtmlTest, AttributesThatPeopleReadAreTexts) {
  const std::string page =
      "<meta name=description content='about us'><meta name=x content='y'>"
      "<p title = \"a &quot;tip&quot;\" class=\"note\">12</p>"
      "<input type=submit value='go'><input type=text value='v'>"
      "<img alt=\"7\"><img alt=unquoted><p translate=no title=\"z\">x</p>";
  EXPECT_THAT(TextsOf("html", page),
              ElementsAre("about us", "a &quot;tip&quot;", "go"));
  const auto document = ReadAs("html", page);
  ASSERT_TRUE(document.ok());
  const std::vector<std::optional<std::string>> translations = {
      "it's us", "b \"c\"", std::nullopt};
  const auto made = (*document)->Render(translations);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(*made, HasSubstr("content='it&#39;s us'>"));
  EXPECT_THAT(*made, HasSubstr("<p title = \"b &quot;c&quot;\" class"));
  EXPECT_THAT(*made, HasSubstr("value='go'"));
}

TEST(HtmlTest, PagesInOtherEncodingsGetNumbersOfMissingCharacters) {
  const auto document = ReadAs("html", "<meta charset=latin1><p>caf\xE9</p>");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ((*document)->segments().back()->sent.text,
            "<meta charset=latin1><p>caf\xC3\xA9</p>");
  const std::vector<std::optional<std::string>> other = {"<p>\xE6\x97\xA5</p>"};
  EXPECT_EQ((*document)->Render(other).value_or(""), "<p>&#26085;</p>");
}

TEST(XmlTest, EntitiesThatAreMadeOfOthersOrAreElsewhereAreRefused) {
  const std::string rest = "]><xliff>&b;</xliff>";
  ExpectRefused("xliff",
                "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b "
                "'&a;&a;&a;'>" +
                    rest,
                "line 1");
  ExpectRefused("xliff",
                "<!DOCTYPE x [<!ENTITY b SYSTEM "
                "'file:///etc/passwd'>" +
                    rest,
                "line 1");
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += "<a>";
  ExpectRefused("xliff", deep, "line 1");
}

TEST(EncodingsTest, AreToldByMarksAndDeclarations) {
  const auto po = [](const std::string& charset) {
    return absl::StrCat("msgid \"\"\nmsgstr \"charset=", charset,
                        "\"\n\nmsgid \"caf\xE9\"\nmsgstr \"\"\n");
  };
  const auto document = ReadAs("po", po("latin-1"));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ((*document)->segments().front()->sent.text, "caf\xC3\xA9");
  const std::vector<std::optional<std::string>> other = {"\xE6\x97\xA5"};
  EXPECT_THAT((*document)->Render(other),
              IsError(absl::StatusCode::kInvalidArgument, "'\xE6\x97\xA5'"));
  ExpectRefused("po", po("klingon"), "klingon");
  ExpectRefused("po", po("utf-8"), "line 4");
  EXPECT_THAT(TextsOf("json", "\xEF\xBB\xBF\"a\""), ElementsAre("a"));
}

TEST(SegmentsTest, RefuseMarkupThatDoesNotComeBack) {
  const auto document = ReadAs("json", R"("a <b>c</b> <img> d")");
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

// A DOCX of two parts, with bytes that do not compress.
std::string Docx(const std::string& inside) {
  const std::string part = absl::StrCat(
      "<w:x xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/"
      "main\">",
      inside, "</w:x>");
  const auto docx = ZipPackage::Replace(
      EmptyParts({"noise", "word/document.xml", "word/header1.xml"}),
      {{"noise", Noise()},
       {"word/document.xml", part},
       {"word/header1.xml", part}});
  EXPECT_TRUE(docx.ok()) << docx.status();
  return docx.value_or("");
}

TEST(PackagesTest, AreRefusedIfTheyAreDamaged) {
  ExpectRefused("docx", "hello", "DOCX");
  ExpectRefused("pptx", "PK\x06\x07", "PPTX");
}

TEST(PackagesTest, AreRefusedIfTheyUnpackToTooMuch) {
  EXPECT_THAT(TextsOf("docx", Docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>")),
              ElementsAre("a", "a"));
  // One part is too large, then both together.
  ExpectRefused("docx", Docx(Repeated(" ", 33 << 20)), "word/document.xml");
  ExpectRefused("docx", Docx(Repeated(" ", 15 << 20)), "word/header1.xml");
}

TEST(PackagesTest, AreRefusedIfAllPartsHaveTooManyTags) {
  ExpectRefused("docx", Docx(Repeated("<a/>", 300'000)),
                "word/header1.xml: line 1");
}

// A run's properties would be written before each of the marks in it, since the
// texts between them get the first run's.
TEST(PackagesTest, AreRefusedIfLongPropertiesAreWrittenAgainAndAgain) {
  const std::string run = "<w:r><w:rPr><w:lang w:val=\"" +
                          Repeated("x", 100'000) + "\"/></w:rPr>" +
                          Repeated("<w:t>a</w:t><w:sym/>", 1000) + "</w:r>";
  EXPECT_THAT(RenderInCapitals("docx", Docx("<w:p><w:r><w:t>b</w:t></w:r>" +
                                            run + "</w:p>")),
              IsError(absl::StatusCode::kInvalidArgument,
                      "far more than the document"));
}

// Of two bytes each, they would take hundreds.
TEST(BoundsTest, TooManyTextsMarksLinesOrValuesAreRefused) {
  ExpectRefused("text", Repeated("a\n", 500'001), "500000 texts and marks");
  ExpectRefused("markdown", Repeated("a\n\n", 500'001), "500000 texts");
  ExpectRefused("json", "[\"" + Repeated("a<b>", 500'001) + "\"]",
                "500000 texts and marks");
  ExpectRefused("html", "<p " + Repeated("alt='a' ", 500'001) + ">",
                "500000 texts");
  ExpectRefused("text", Repeated("\n", 2'000'001), "2000000 lines");
  ExpectRefused("json", "[" + Repeated("1,", 4'000'001) + "1]", "millions");
}

}  // namespace
}  // namespace trivium
