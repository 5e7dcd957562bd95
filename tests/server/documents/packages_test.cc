// OpenDocument and EPUB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/server/documents/document_helpers.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string OdfRoot(const std::string& body) {
  return "<office:document xmlns:office=\"o\" xmlns:table=\"t\" "
         "xmlns:draw=\"d\" xmlns:style=\"s\" "
         "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\">" +
         body + "</office:document>";
}
std::string Odf(const std::string& body) {
  return Packed({{"mimetype", "application/vnd.oasis.opendocument.text"},
                 {"content.xml", OdfRoot(body)}});
}
std::string OdfInCapitals(const std::string& body) {
  const std::string root =
      PartOfPackage(InCapitals("odt", Odf(body)), "content.xml");
  const std::string around = OdfRoot("|");
  const size_t before = around.find('|');
  return root.substr(before, root.size() - around.size() + 1);
}

TEST(PackagesTest, OtherKindsOfFilesAreNamed) {
  const std::string compound("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8);
  std::string encrypted = compound + std::string(600, '\0');
  for (const char c : std::string("EncryptedPackage")) {
    encrypted += {c, '\0'};
  }
  for (const char* const format : {"docx", "pptx", "xlsx", "odt", "epub"}) {
    ExpectRefused(format, encrypted, "password");
    ExpectRefused(format, compound + "WordDocument", "Office 97");
    ExpectRefused(format, "%PDF-1.7\n", "PDF");
    ExpectRefused(format, "{\\rtf1 a}", "RTF");
    ExpectRefused(format, "plain text", "zip archive");
  }
}

TEST(OpenDocumentTest, ParagraphsAreTextsWithTheirSpans) {
  const std::string body =
      "<text:h>title</text:h>\n<text:p>a <text:span text:style-name=\"B\">bold"
      "</text:span> word<text:s text:c=\"2\"/>here<text:tab/>next &amp;"
      "</text:p><text:p/>";
  EXPECT_THAT(
      TextsOf("odt", Odf(body)),
      ElementsAre("title", "a <span id=\"0\">bold</span> word here", "next &"));
  EXPECT_EQ(OdfInCapitals(body),
            "<text:h>TITLE</text:h>\n<text:p>A <text:span text:style-name="
            "\"B\">BOLD</text:span> WORD HERE<text:tab/>NEXT &amp;"
            "</text:p><text:p/>");
}

// The new archive shares what comes before the first changed part with the old
// one, which is the caller's.
TEST(ZipPackageTest, ALongPartBeforeTheChangedOneStays) {
  std::string picture;
  uint32_t random = 1;
  while (picture.size() < 50'000) {
    random = random * 1664525 + 1013904223;
    picture += static_cast<char>(random >> 24);
  }
  const std::string document =
      Packed({{"mimetype", "application/vnd.oasis.opendocument.text"},
              {"a.png", picture},
              {"content.xml", OdfRoot("<text:p>one</text:p>")}});
  const std::string before = document;
  for (int i = 0; i < 3; ++i) {
    const std::string written = InCapitals("odt", document);
    EXPECT_EQ(PartOfPackage(written, "a.png"), picture);
    EXPECT_EQ(PartOfPackage(written, "content.xml"),
              OdfRoot("<text:p>ONE</text:p>"));
  }
  EXPECT_EQ(document, before);
}

TEST(ZipPackageTest, DamagedDirectoriesAreReadOrRefused) {
  const std::string document =
      Packed({{"mimetype", "application/vnd.oasis.opendocument.text"},
              {"a.png", std::string(300, 'a')},
              {"content.xml", OdfRoot("<text:p>one</text:p>")}});
  const size_t directory = document.find("PK\x01\x02");
  ASSERT_NE(directory, document.npos);
  int refused = 0;
  for (size_t i = directory; i < document.size(); ++i) {
    for (const char value : {'\xff', '\x00', '\x7f'}) {
      std::string damaged = document;
      damaged[i] = value;
      if (i + 1 < document.size()) damaged[i + 1] = value;
      const auto read = ReadAs("odt", damaged);
      if (!read.ok()) {
        ++refused;
        continue;
      }
      const std::vector<std::optional<std::string>> translations(
          (*read)->segments().size(), "two");
      refused += !(*read)->Render(translations).ok();
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(OpenDocumentTest, NotesAndFramesAreTextsOfTheirOwn) {
  const std::string note =
      "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
      "<text:p>see <draw:frame><draw:text-box><text:p>box</text:p>"
      "</draw:text-box></draw:frame>there</text:p></text:note-body></"
      "text:note>";
  const std::string body = "<text:p>one" + note +
                           " two</text:p><text:p>three"
                           "</text:p>";
  EXPECT_THAT(TextsOf("odt", Odf(body)),
              ElementsAre("one<img id=\"0\"> two", "see <img id=\"0\">there",
                          "box", "three"));
  EXPECT_EQ(OdfInCapitals(body),
            "<text:p>ONE<text:note><text:note-citation>1</text:note-citation>"
            "<text:note-body><text:p>SEE <draw:frame><draw:text-box><text:p>BOX"
            "</text:p></draw:text-box></draw:frame>THERE</text:p>"
            "</text:note-body></text:note> TWO</text:p><text:p>THREE</text:p>");
  const std::string document = Odf(body);
  const std::vector<std::optional<std::string>> none(4);
  const auto read = ReadAs("odt", document);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->Render(none).value_or(""), document);
  // One text alone: the others stay byte for byte.
  std::vector<std::optional<std::string>> one(4);
  one[2] = "Kasten";
  const auto made = (*read)->Render(one);
  ASSERT_TRUE(made.ok()) << made.status();
  std::string expected = OdfRoot(body);
  expected.replace(expected.find("box</text:p>"), 3, "Kasten");
  EXPECT_EQ(PartOfPackage(*made, "content.xml"), expected);
}

TEST(OpenDocumentTest, FieldsStandForWords) {
  EXPECT_THAT(TextsOf("odt", Odf("<text:p>on <text:date>May 1</text:date> "
                                 "we<text:bookmark text:name=\"b\"/> go"
                                 "</text:p>")),
              ElementsAre("on <code id=\"0\"></code> we<img id=\"1\"> go"));
}

TEST(OpenDocumentTest, CellsWithValuesDeletedTextAndCommentsStay) {
  EXPECT_THAT(
      TextsOf("ods",
              Odf("<table:table-cell office:value-type=\"string\"><text:p>name"
                  "</text:p></table:table-cell><table:table-cell "
                  "office:value-type=\"date\"><text:p>1 May</text:p>"
                  "</table:table-cell><table:table-cell table:formula=\"=A1\" "
                  "office:value-type=\"string\"><text:p>name</text:p>"
                  "</table:table-cell><text:tracked-changes><text:p>gone"
                  "</text:p></text:tracked-changes><text:p>a<office:annotation>"
                  "<text:p>note</text:p></office:annotation> b</text:p>")),
      ElementsAre("name", "a<img id=\"0\"> b"));
}

TEST(OpenDocumentTest, HeadersAndFootersAreInTheStyles) {
  const std::string document =
      Packed({{"content.xml", OdfRoot("")},
              {"styles.xml",
               OdfRoot("<text:p>sample</text:p><style:master-page>"
                       "<style:header><text:p>head</text:p></style:header>"
                       "<style:footer><text:p>foot</text:p></style:footer>"
                       "</style:master-page>")}});
  EXPECT_THAT(TextsOf("odt", document), ElementsAre("head", "foot"));
  EXPECT_THAT(PartOfPackage(InCapitals("odt", document), "styles.xml"),
              HasSubstr("<text:p>HEAD</text:p>"));
}

TEST(OpenDocumentTest, OthersAreRefused) {
  ExpectRefused("odt", "hello", "OpenDocument");
  ExpectRefused("odp", Packed({{"mimetype", "x"}}), "content.xml");
  ExpectRefused("ods", Packed({{"content.xml", "<a/>"}}), "content.xml");
  ExpectRefused("odt",
                Packed({{"content.xml", "\xFF\xFE?"},
                        {"META-INF/manifest.xml",
                         "<m:file-entry><m:encryption-data/></m:file-entry>"}}),
                "password");
  ExpectRefused("odt", Packed({{"encrypted-package", "x"}}), "password");
  ExpectRefused("odt",
                Packed({{"noise", Noise()},
                        {"content.xml", OdfRoot(Repeated("<a/>", 500'001))}}),
                "content.xml: line 1");
  ExpectRefused("odt",
                Packed({{"content.xml",
                         "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]>" +
                             OdfRoot("&b;")}}),
                "content.xml: line 1");
}

std::string Page(const std::string& body) {
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<html xmlns=\"h\"><head>"
         "<title>page</title></head><body>" +
         body + "</body></html>\n";
}

std::string Epub(const std::string& page, const std::string& encryption = "") {
  std::vector<std::pair<std::string, std::string>> parts = {
      {"mimetype", "application/epub+zip"},
      {"META-INF/container.xml",
       "<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/>"
       "</rootfiles></container>"},
      {"OEBPS/book.opf",
       "<package><metadata><dc:title xmlns:dc=\"d\">my book</dc:title>"
       "<dc:language xmlns:dc=\"d\">en</dc:language></metadata><manifest>"
       "<item href=\"text/ch%201.xhtml#a\" "
       "media-type=\"application/xhtml+xml\"/><item href=\"a.css\" "
       "media-type=\"text/css\"/><item href=\"toc.ncx\" "
       "media-type=\"application/x-dtbncx+xml\"/><item href=\"gone.xhtml\" "
       "media-type=\"application/xhtml+xml\"/></manifest></package>"},
      {"OEBPS/text/ch 1.xhtml", page},
      {"OEBPS/a.css", "p {}"},
      {"OEBPS/toc.ncx",
       "<ncx><docAuthor><text>jane "
       "doe</text></docAuthor><navLabel><text>chapter"
       "</text></navLabel></ncx>"}};
  if (!encryption.empty()) {
    parts.emplace_back("META-INF/encryption.xml", encryption);
  }
  return Packed(parts);
}

TEST(EpubTest, PagesTitleAndContentsAreTexts) {
  const std::string book = Epub(Page("<p>one <b>two</b></p>"));
  EXPECT_THAT(
      TextsOf("epub", book),
      ElementsAre("my book",
                  "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<html "
                  "xmlns=\"h\"><head><title>page</title></head>",
                  "<body><p>one <b>two</b></p></body></html>", "chapter"));
  const std::string made = InCapitals("epub", book, {.target_language = "de"});
  EXPECT_THAT(PartOfPackage(made, "OEBPS/text/ch 1.xhtml"),
              HasSubstr("<p>ONE <b>TWO</b></p>"));
  EXPECT_THAT(PartOfPackage(made, "OEBPS/toc.ncx"),
              HasSubstr("<text>jane doe</text></docAuthor><navLabel>"
                        "<text>CHAPTER</text>"));
  const std::string package = PartOfPackage(made, "OEBPS/book.opf");
  EXPECT_THAT(package, HasSubstr(">MY BOOK</dc:title>"));
  EXPECT_THAT(package, HasSubstr(">de</dc:language>"));
  EXPECT_EQ(PartOfPackage(made, "OEBPS/a.css"), "p {}");
}

TEST(EpubTest, PlacesNameThePage) {
  const auto document = ReadAs("epub", Epub(Page("<p>zero</p>\n<p>one</p>")));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ((*document)->segments()[3]->place, "OEBPS/text/ch 1.xhtml, line 3");
}

TEST(EpubTest, AnArchiveKeepsItsFirstPart) {
  const std::string book = Epub(Page("<p>one</p>"));
  const std::string made = InCapitals("epub", book);
  auto package = ZipPackage::Open(made);
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_EQ(package->Names().front(), "mimetype");
  // The first entry is byte for byte that of the book.
  const size_t next = book.find("PK\x03\x04", 4);
  EXPECT_EQ(made.substr(0, next), book.substr(0, next));
}

TEST(EpubTest, OthersAreRefused) {
  ExpectRefused("epub", "hello", "EPUB");
  ExpectRefused("epub", Packed({{"mimetype", "x"}}), "container.xml");
  ExpectRefused("epub", Packed({{"META-INF/container.xml", "<a/>"}}),
                "rootfile");
  ExpectRefused("epub",
                Packed({{"META-INF/container.xml",
                         "<c><rootfile full-path=\"../../x.opf\"/></c>"}}),
                "x.opf");
  ExpectRefused("epub",
                Epub(Page("<p>one</p>"),
                     "<encryption><CipherReference URI=\"OEBPS/text/ch "
                     "1.xhtml\"/></encryption>"),
                "encrypted");
  // Addresses may be encoded. Other parts, such as fonts, may be encrypted.
  ExpectRefused("epub",
                Epub(Page("<p>one</p>"),
                     "<e:encryption xmlns:e='e'><e:CipherReference "
                     "URI='OEBPS/text/ch%201.xhtml'/></e:encryption>"),
                "encrypted");
  EXPECT_TRUE(ReadAs("epub", Epub(Page("<p>one</p>"),
                                  "<encryption><CipherReference "
                                  "URI=\"OEBPS/a.ttf\"/></encryption>"))
                  .ok());
  ExpectRefused("epub", Epub(Repeated("<a>", 100'001)), "100000 tags");
  ExpectRefused("epub", Epub(Repeated(" ", 33 << 20)), "ch 1.xhtml");
}

}  // namespace
}  // namespace trivium
