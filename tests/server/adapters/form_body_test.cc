#include "server/adapters/form_body.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

constexpr char kEncoded[] = "application/x-www-form-urlencoded";
constexpr char kMultipart[] = "multipart/form-data; boundary=\"a b\"";

std::string Part(const std::string& head, const std::string& value) {
  return "--a b\r\n" + head + "\r\n\r\n" + value + "\r\n";
}
std::string Named(const std::string& name, const std::string& value) {
  return Part("Content-Disposition: form-data; name=\"" + name + "\"", value);
}
auto FormErrorAt(const char* place) {
  return IsError(absl::StatusCode::kInvalidArgument, place);
}

TEST(FormBodyTest, ReadsUrlEncodedForms) {
  const auto fields =
      ParseForm(kEncoded, "q=a+b%2Bc%C3%A4&source=en&&empty=&bare&odd=100%");
  ASSERT_TRUE(fields.ok()) << fields.status();
  ASSERT_EQ(fields->size(), 5u);
  EXPECT_EQ((*fields)[0].name, "q");
  EXPECT_EQ((*fields)[0].value, "a b+c\xc3\xa4");
  EXPECT_EQ((*fields)[1].value, "en");
  EXPECT_EQ((*fields)[2].value, "");
  EXPECT_EQ((*fields)[3].name, "bare");
  EXPECT_EQ((*fields)[4].value, "100%");
  EXPECT_TRUE(ParseForm(kEncoded, "")->empty());
}

TEST(FormBodyTest, ReadsMultipartForms) {
  const std::string file =
      "content-type: text/html\r\n"
      "content-disposition: form-data; filename=\"a \\\"b\\\"; c.html\"; "
      "name=file";
  const auto fields = ParseForm(
      kMultipart, Named("source", "en") + Part(file, "<p>\r\n--a\r\n\r\n</p>") +
                      Named("empty", "") + "--a b--\r\n");
  ASSERT_TRUE(fields.ok()) << fields.status();
  ASSERT_EQ(fields->size(), 3u);
  EXPECT_EQ((*fields)[0].name, "source");
  EXPECT_EQ((*fields)[0].value, "en");
  EXPECT_EQ((*fields)[0].file_name, std::nullopt);
  EXPECT_EQ((*fields)[1].name, "file");
  EXPECT_EQ((*fields)[1].file_name, "a \"b\"; c.html");
  EXPECT_EQ((*fields)[1].value, "<p>\r\n--a\r\n\r\n</p>");
  EXPECT_EQ((*fields)[2].value, "");
}

TEST(FormBodyTest, SaysWhyABodyIsNotAForm) {
  EXPECT_THAT(ParseForm(kEncoded, "q=%FF"), FormErrorAt("q: "));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "a=b&";
  EXPECT_THAT(ParseForm(kEncoded, many), FormErrorAt("many"));

  EXPECT_THAT(ParseForm("multipart/form-data", Named("a", "b")),
              FormErrorAt("Content-Type"));
  EXPECT_THAT(ParseForm(kMultipart, ""), FormErrorAt("begin"));
  EXPECT_THAT(ParseForm(kMultipart, "x" + Named("a", "b") + "--a b--"),
              FormErrorAt("begin"));
  EXPECT_THAT(ParseForm(kMultipart, Named("a", "b")), FormErrorAt("end"));
  EXPECT_THAT(ParseForm(kMultipart, "--a b\r\n\r\n"), FormErrorAt("end"));
  EXPECT_THAT(
      ParseForm(kMultipart, Part("Content-Type: text/plain", "b") + "--a b--"),
      FormErrorAt("Content-Disposition"));
  EXPECT_THAT(ParseForm(kMultipart, Named("a", "\xff") + "--a b--"),
              FormErrorAt("a: "));
  EXPECT_THAT(ParseForm(kMultipart,
                        Part("X: " + std::string(5000, 'x'), "b") + "--a b--"),
              FormErrorAt("head"));
  EXPECT_THAT(
      ParseForm(kMultipart,
                Part("Content-Transfer-Encoding: base64", "YQ==") + "--a b--"),
      FormErrorAt("Content-Transfer-Encoding"));
}

TEST(FormBodyTest, ConvertsFieldsToJson) {
  const auto members = FormToJson({{"q", "a"}, {"source", "en"}});
  ASSERT_TRUE(members.ok()) << members.status();
  EXPECT_EQ(*members, (nlohmann::json{{"q", "a"}, {"source", "en"}}));
  EXPECT_THAT(FormToJson({{"q", "a"}, {"q", "b"}}), FormErrorAt("q: "));
  EXPECT_THAT(FormToJson({{"q", "a", "a.txt"}}),
              FormErrorAt("/translate_file"));
}

}  // namespace
}  // namespace trivium
