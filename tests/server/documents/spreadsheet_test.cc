// XLSX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/documents/document_helpers.h"

namespace trivium {
namespace {

using testing::ElementsAre;

using Parts = std::vector<std::pair<std::string, std::string>>;

constexpr char kStrings[] = "xl/sharedStrings.xml";
constexpr char kSheet[] = "xl/worksheets/sheet1.xml";

std::string Sst(const std::string& strings) {
  return "<?xml version=\"1.0\"?>\r\n<sst xmlns=\"m\" count=\"9\">" + strings +
         "</sst>";
}
std::string Xlsx(const std::string& strings, const Parts& more = {}) {
  Parts parts = {{"[Content_Types].xml", "<Types/>"},
                 {"xl/workbook.xml", "<workbook/>"},
                 {kStrings, Sst(strings)}};
  parts.insert(parts.end(), more.begin(), more.end());
  return Packed(parts);
}

TEST(XlsxTest, StringsAreTextsLineByLine) {
  const std::string strings =
      "<si><t>one</t></si><si><t xml:space=\"preserve\"> two &amp;_x000D_\n"
      "three </t></si><si><t/></si><si><t>1,5</t></si>";
  EXPECT_THAT(TextsOf("xlsx", Xlsx(strings)),
              ElementsAre("one", "two &", "three", "1,5"));
  EXPECT_EQ(PartOfPackage(InCapitals("xlsx", Xlsx(strings)), kStrings),
            Sst("<si><t>ONE</t></si><si><t xml:space=\"preserve\"> TWO "
                "&amp;_x000D_\nTHREE </t></si><si><t/></si><si><t>1,5</t>"
                "</si>"));
}

TEST(XlsxTest, FormattingsAreAroundTheirWords) {
  const std::string bold = "<rPr><b/></rPr>";
  const std::string strings =
      "<si><r><t>a </t></r><r>" + bold + "<t>b</t></r><r><t>ig</t></r></si>";
  EXPECT_THAT(TextsOf("xlsx", Xlsx(strings)),
              ElementsAre("a <span id=\"0\">b</span>ig"));
  const std::string space = "<t xml:space=\"preserve\">";
  EXPECT_EQ(PartOfPackage(InCapitals("xlsx", Xlsx(strings)), kStrings),
            Sst("<si><r>" + space + "A </t></r><r>" + bold + space +
                "B</t></r><r>" + space + "IG</t></r></si>"));
  // A string of several lines keeps them, and its runs.
  const std::string lines =
      "<si><r><t>a\nb</t></r><r>" + bold + "<t>c</t></r></si>";
  EXPECT_THAT(TextsOf("xlsx", Xlsx(lines)), ElementsAre("a", "b", "c"));
  EXPECT_EQ(PartOfPackage(InCapitals("xlsx", Xlsx(lines)), kStrings),
            Sst("<si><r><t>A\nB</t></r><r>" + bold + "<t>C</t></r></si>"));
}

TEST(XlsxTest, FuriganaStays) {
  const std::string strings =
      "<si><t>a</t><rPh sb=\"0\" eb=\"1\"><t>kana</t></rPh></si>";
  EXPECT_THAT(TextsOf("xlsx", Xlsx(strings)), ElementsAre("a"));
}

// Formulas name them: Sales[price].
TEST(XlsxTest, NamesOfColumnsOfTablesStay) {
  const std::string table =
      "<table ref=\"A1:B9\"><tableColumns count=\"2\"><tableColumn id=\"1\" "
      "name=\"price\"/><tableColumn id=\"2\" name=\"a &amp; b\"/>"
      "</tableColumns></table>";
  const std::string document =
      Xlsx("<si><t>price</t></si><si><t>a &amp; b</t></si><si><t>c</t></si>",
           {{"xl/tables/table1.xml", table}});
  EXPECT_THAT(TextsOf("xlsx", document), ElementsAre("c"));
}

TEST(XlsxTest, InlineStringsDrawingsAndChartsAreTexts) {
  const std::string sheet =
      "<x:worksheet><x:row><x:c t=\"inlineStr\"><x:is><x:t>one</x:t></x:is>"
      "</x:c><x:c t=\"str\"><x:f>A1&amp;\"b\"</x:f><x:v>two</x:v></x:c>"
      "</x:row></x:worksheet>";
  const std::string chart =
      "<c:chart xmlns:c=\"c\" xmlns:a=\"a\"><a:p><a:r><a:t>three</a:t></a:r>"
      "</a:p><c:v>four</c:v></c:chart>";
  const std::string document =
      Xlsx("", {{kSheet, sheet}, {"xl/charts/chart1.xml", chart}});
  EXPECT_THAT(TextsOf("xlsx", document), ElementsAre("one", "three"));
  const std::string written = InCapitals("xlsx", document);
  EXPECT_EQ(PartOfPackage(written, kSheet),
            "<x:worksheet><x:row><x:c t=\"inlineStr\"><x:is><x:t>ONE</x:t>"
            "</x:is></x:c><x:c t=\"str\"><x:f>A1&amp;\"b\"</x:f><x:v>two"
            "</x:v></x:c></x:row></x:worksheet>");
  EXPECT_EQ(PartOfPackage(written, "xl/charts/chart1.xml"),
            "<c:chart xmlns:c=\"c\" xmlns:a=\"a\"><a:p><a:r><a:t>THREE</a:t>"
            "</a:r></a:p><c:v>four</c:v></c:chart>");
  EXPECT_EQ(PartOfPackage(written, kStrings), Sst(""));
}

TEST(XlsxTest, OthersAreRefused) {
  ExpectRefused("xlsx", Packed({{"word/document.xml", "<a/>"}}),
                "xl/workbook.xml");
  ExpectRefused("xlsx", Xlsx("<si>"), kStrings);
}

}  // namespace
}  // namespace trivium
