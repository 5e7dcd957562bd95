// Android's and Apple's strings, Java's .properties, ARB, CSV and TSV.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/documents/document_helpers.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AndroidTest, StringsArraysAndPluralsAreTexts) {
  const std::string head =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!-- <string> -->\n"
      "<resources xmlns:xliff=\"urn:oasis:names:tc:xliff:document:1.2\">\n"
      "  <string name=\"app\" translatable=\"false\">my app</string>\n"
      "  <color name=\"c\">red one</color>\n"
      "  <string-array name=\"x\" translatable=\"false\"><item>no</item>"
      "</string-array>\n";
  const std::string list =
      "  <string name=\"a\">hi <b>you</b> &amp; me</string>\n"
      "  <string-array name=\"b\">\n    <item>one</item>\n    <item>12</item>\n"
      "  </string-array>\n"
      "  <plurals name=\"c\"><item quantity=\"one\">%d day</item>"
      "<item quantity=\"other\">%d days</item></plurals>\n</resources>\n";
  const auto texts = TextsOf("android", head + list);
  EXPECT_THAT(texts, ElementsAre("hi <span id=\"0\">you</span> &amp; me", "one",
                                 "12", "%d day", "%d days"));
  EXPECT_EQ(InCapitals("android", head + list),
            head +
                "  <string name=\"a\">HI <b>YOU</b> &amp; ME</string>\n"
                "  <string-array name=\"b\">\n    <item>ONE</item>\n"
                "    <item>12</item>\n  </string-array>\n"
                "  <plurals name=\"c\"><item quantity=\"one\">%D DAY</item>"
                "<item quantity=\"other\">%D DAYS</item></plurals>\n"
                "</resources>\n");
}

std::string Android(const std::string& content) {
  return "<resources><string name=\"a\">" + content + "</string></resources>";
}

TEST(AndroidTest, EscapesAreReadAndWritten) {
  EXPECT_THAT(TextsOf("android", Android(R"(don\'t \"go\" \u00fc\\ &lt;3)")),
              ElementsAre("don't \"go\" ü\\ <3"));
  EXPECT_EQ(InCapitals("android", Android(R"(don\'t \"go\")")),
            Android(R"(DON\'T \"GO\")"));
  // Lines are texts of their own; quotes around them stay.
  EXPECT_EQ(InCapitals("android", Android(R"("a  b\nc")")),
            Android(R"("A B\nC")"));
  EXPECT_THAT(TextsOf("android", Android(R"(one\ntwo\u0020)")),
              ElementsAre("one", "two"));
  EXPECT_EQ(InCapitals("android", Android(R"("a b")")), Android(R"("A B")"));
  // At the beginning @ and ? name resources.
  EXPECT_THAT(TextsOf("android", Android("@string/other")), IsEmpty());
  EXPECT_THAT(TextsOf("android", Android("?attr/title")), IsEmpty());
  EXPECT_EQ(InCapitals("android", Android("\\@home")), Android("\\@HOME"));
}

TEST(AndroidTest, PlaceholdersTagsAndCdataStay) {
  EXPECT_THAT(
      TextsOf("android",
              Android("by <xliff:g id=\"x\" example=\"1\">%s</xliff:g> now")),
      ElementsAre("by <code id=\"0\"></code> now"));
  EXPECT_EQ(InCapitals("android", Android("a &lt;b>b&lt;/b> c")),
            Android("A &lt;b>B&lt;/b> C"));
  EXPECT_EQ(InCapitals("android", Android("<![CDATA[a <b>b</b> & c]]>")),
            Android("<![CDATA[A <b>B</b> & C]]>"));
  const auto document = ReadAs("android", Android("<![CDATA[a]]>"));
  ASSERT_TRUE(document.ok()) << document.status();
  const std::vector<std::optional<std::string>> ends = {"x]]>y"};
  EXPECT_EQ((*document)->Render(ends).value_or(""),
            Android("<![CDATA[x]]]]><![CDATA[>y]]>"));
}

TEST(AndroidTest, IsToldByTheNameOfTheFileAndOfTheRoot) {
  EXPECT_EQ(DocumentFormatOfFile("app/res/values/strings.xml")->name,
            "android");
  EXPECT_EQ(DocumentFormatOfFile("values\\Arrays.xml")->name, "android");
  EXPECT_EQ(DocumentFormatOfFile("mystrings.xml")->name, "xml");
  ExpectRefused("android", "<a/>", "<a>");
  ExpectRefused("android", "<resources>", "line 1");
  ExpectRefused("android",
                "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]>"
                "<resources><string name='a'>&b;</string></resources>",
                "line 1");
}

TEST(PropertiesTest, ValuesAreTextsAndAllElseStays) {
  const std::string file =
      "# a comment = no\\\n! another\n\n"
      "  title = hello there\r\n"
      "a\\ key\\:x:good\\: day\n"
      "long = one \\\n    two \\\n  three\n"
      "joined\\\n  key value\n"
      "empty=\nno value\nlast=12";
  EXPECT_THAT(TextsOf("properties", file),
              ElementsAre("hello there", "good: day", "one two three", "value",
                          "value", "12"));
  EXPECT_EQ(InCapitals("properties", file),
            "# a comment = no\\\n! another\n\n"
            "  title = HELLO THERE\r\n"
            "a\\ key\\:x:GOOD: DAY\n"
            "long = ONE TWO THREE\n"
            "joined\\\n  key VALUE\n"
            "empty=\nno VALUE\nlast=12");
  // A joint at a value's ends stays.
  EXPECT_EQ(InCapitals("properties", "a=\\\n  one\\n\\\n  two \\\n\nb=c"),
            "a=\\\n  ONE\\n\\\n  TWO \\\n\nb=C");
}

TEST(PropertiesTest, EscapesStandForCharacters) {
  EXPECT_THAT(TextsOf("properties", "a=\\u00fc\\ud83d\\ude00 \\t\\x \\uD83D."),
              ElementsAre("ü\U0001F600 x \uFFFD."));
  const auto written = [](const std::string& file, const std::string& text) {
    const auto document = ReadAs("properties", file);
    EXPECT_TRUE(document.ok()) << document.status();
    const std::vector<std::optional<std::string>> one = {text};
    return (*document)->Render(one).value_or("");
  };
  // What is ASCII stays ASCII, and so does what may be ISO-8859-1.
  EXPECT_EQ(written("a=b", "ü\U0001F600"), "a=\\u00FC\\uD83D\\uDE00");
  EXPECT_EQ(written("#\xE4\na=b", "\xC3\xBC"), "#\xE4\na=\\u00FC");
  EXPECT_EQ(written("#ä\na=b", "ü"), "#ä\na=ü");
  EXPECT_EQ(written("a=b", "x\\y\tz"), "a=x\\\\y\\tz");
  EXPECT_THAT(TextsOf("properties", "a=caf\xE9"), ElementsAre("café"));
}

TEST(PropertiesTest, PatternsOfMessageFormatHaveDoubledApostrophes) {
  EXPECT_THAT(TextsOf("properties", "a={0} can''t"), ElementsAre("{0} can't"));
  EXPECT_EQ(InCapitals("properties", "a={0} can''t"), "a={0} CAN''T");
  EXPECT_EQ(InCapitals("properties", "a={0} can't"), "a={0} CAN'T");
  EXPECT_EQ(InCapitals("properties", "a=we can''t"), "a=WE CAN''T");
  EXPECT_EQ(InCapitals("properties", "a={n, plural, one {a} other {b}}"),
            "a={n, plural, one {A} other {B}}");
}

TEST(TablesTest, CellsAreTextsBehindTheRowOfNames) {
  const std::string table =
      "id,text,note\r\n1,hello,\"a, b\"\r\n2,\"say \"\"hi\"\"\nnow\", 5\" disk"
      "\r\n";
  EXPECT_THAT(
      TextsOf("csv", table),
      ElementsAre("1", "hello", "a, b", "2", "say \"hi\"", "now", "5\" disk"));
  EXPECT_EQ(InCapitals("csv", table),
            "id,text,note\r\n1,HELLO,\"A, B\"\r\n2,\"SAY \"\"HI\"\"\nNOW\","
            "\" 5\"\" DISK\"\r\n");
  EXPECT_EQ(
      InCapitals("csv", table, {.columns = {"text"}}),
      "id,text,note\r\n1,HELLO,\"a, b\"\r\n2,\"SAY \"\"HI\"\"\nNOW\", 5\" "
      "disk\r\n");
  EXPECT_EQ(InCapitals("csv", "a;b\nc;d", {.columns = {"2"}}), "a;b\nc;D");
  EXPECT_EQ(InCapitals("csv", "a,b\nc,", {.no_header = true}), "A,B\nC,");
  EXPECT_EQ(InCapitals("csv", "sep=|\na|b\nc|d\n"), "sep=|\na|b\nC|D\n");
  EXPECT_EQ(InCapitals("tsv", "a\tb\nc, d\t\"e\"\"\"\n"),
            "a\tb\nC, D\t\"E\"\"\"\n");
}

TEST(TablesTest, ACellGetsQuotesIfItNeedsThem) {
  const auto written = [](const std::string& cell) {
    const auto document = ReadAs("csv", "a,b\nx,y z\n");
    EXPECT_TRUE(document.ok()) << document.status();
    const std::vector<std::optional<std::string>> both = {cell, std::nullopt};
    return (*document)->Render(both).value_or("");
  };
  EXPECT_EQ(written("one"), "a,b\none,y z\n");
  EXPECT_EQ(written("one, two"), "a,b\n\"one, two\",y z\n");
  EXPECT_EQ(written("say \"x\""), "a,b\n\"say \"\"x\"\"\",y z\n");
  // Bytes that mark places are in no text.
  EXPECT_EQ(written("a\xFA\xFB"), "a,b\na,y z\n");
}

TEST(TablesTest, WrongColumnsAndTooManyAreRefused) {
  EXPECT_THAT(ReadAs("csv", "a,b\nc,d\n", {.columns = {"x"}}),
              IsError(absl::StatusCode::kInvalidArgument, "'x'"));
  EXPECT_THAT(ReadAs("csv", "a,b\nc,d\n", {.columns = {"3"}}),
              IsError(absl::StatusCode::kInvalidArgument, "'3'"));
  EXPECT_THAT(ReadAs("csv", "a,b\n", {.columns = {"a"}, .no_header = true}),
              IsError(absl::StatusCode::kInvalidArgument, "'a'"));
  EXPECT_THAT(ReadAs("csv", "sep=;\na;b\n", {.columns = {"x"}}),
              IsError(absl::StatusCode::kInvalidArgument, "line 2"));
  // Of equal names the first counts; a name counts before a number.
  EXPECT_EQ(InCapitals("csv", "a,a,1\nx,x,x\n", {.columns = {"a"}}),
            "a,a,1\nX,x,x\n");
  EXPECT_EQ(InCapitals("csv", "a,a,1\nx,x,x\n", {.columns = {"1"}}),
            "a,a,1\nx,x,X\n");
  ExpectRefused("csv", Repeated(",", 20'000), "16384 columns");
  ExpectRefused("tsv", Repeated("a\n", 500'002), "500000 texts");
  EXPECT_THAT(TextsOf("csv", ""), IsEmpty());
}

TEST(TablesTest, AQuoteThatIsNeverClosedIsTold) {
  ExpectRefused("csv", "a\n\"b", "line 2");
  ExpectRefused("csv", "a,b\nx,\"open\ny,\"closed\"\n", "line 2: column 2");
  ExpectRefused("csv", "a;b\nx;\"open \"\"word\"\"", "line 2: column 2");
  // A quote within its line is text, and TSV may have quotes as texts.
  EXPECT_THAT(TextsOf("csv", "a\n\"b\" c\nd\" e"),
              ElementsAre("\"b\" c", "d\" e"));
  EXPECT_THAT(TextsOf("csv", "a\n\"b\nc\"\n\"d\""), ElementsAre("b", "c", "d"));
  EXPECT_THAT(TextsOf("tsv", "a\n\"b"), ElementsAre("\"b"));
}

TEST(AppleStringsTest, ValuesAreTexts) {
  const std::string text =
      "\xEF\xBB\xBF/* \"a\" = \"b\"; */\r\n\"a \\\" b\" = \"one "
      "\\\"two\\\"\\nthree %@\";\r\n// c\r\nkey=\"four\";\"alone\";x = y;";
  EXPECT_THAT(TextsOf("strings", text),
              ElementsAre("one \"two\"", "three %@", "four"));
  EXPECT_EQ(InCapitals("strings", text),
            "\xEF\xBB\xBF/* \"a\" = \"b\"; */\r\n\"a \\\" b\" = \"ONE "
            "\\\"TWO\\\"\\nTHREE %@\";\r\n// c\r\nkey=\"FOUR\";\"alone\";x = "
            "y;");
  EXPECT_THAT(TextsOf("strings", R"(a = "\U00fc \'b\' c";)"),
              ElementsAre("ü 'b' c"));
}

TEST(AppleStringsTest, TheyMayBeUtf16) {
  std::string text = "\xFF\xFE", capitals = text;
  for (const char c : std::string("a = \"b\";\n")) text += {c, '\0'};
  for (const char c : std::string("a = \"B\";\n")) capitals += {c, '\0'};
  EXPECT_EQ(InCapitals("strings", text), capitals);
}

TEST(AppleStringsTest, OthersAreRefused) {
  ExpectRefused("strings", "\"a\" = \"b\";\n\"c\" \"d\";", "line 2");
  ExpectRefused("strings", "\"a\" = \"b\"\n", "line 2");
  ExpectRefused("strings", "\"a\" = \"b;\n", "line 1, column 7");
  ExpectRefused("strings", "/* a\n\"b\" = \"c\";", "line 1");
  ExpectRefused("strings", "a = ;", "line 1, column 5");
  ExpectRefused("strings", "a = \"b\\", "line 1, column 5");
  ExpectRefused("strings", "bplist00", "binary property list");
}

TEST(ArbTest, WhatTellsAboutTextsStays) {
  const std::string text =
      R"({"@@locale": "en", "a": "one {b}", "@a": {"description": "two"},)"
      R"( "c": {"@@locale": "x"}})";
  EXPECT_THAT(TextsOf("arb", text), ElementsAre("one {b}"));
  DocumentOptions options;
  options.target_language = "de-AT";
  EXPECT_EQ(InCapitals("arb", text, options),
            R"({"@@locale": "de_AT", "a": "ONE {B}", "@a": {"description": )"
            R"("two"}, "c": {"@@locale": "x"}})");
}

}  // namespace
}  // namespace trivium
