#include "server/adapters/document_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

constexpr char kTexts[] = R"(["a <b>c</b>", "d & e", "d & e", "1"])";

TEST(DocumentTextsTest, TextsWithoutTheirMarksStayAndAreCounted) {
  const Environment environment;
  v1::TranslateRequest request;
  const auto texts = DocumentTexts::Read(
      environment, *FindDocumentFormat("json"), kTexts, &request);
  ASSERT_TRUE(texts.ok()) << texts.status();
  ASSERT_EQ(request.inputs_size(), 2);
  EXPECT_EQ(request.inputs(0).text(), "a <span id=\"0\">c</span>");
  EXPECT_EQ(request.inputs(1).text(), "d &amp; e");
  EXPECT_GE(texts->bytes(), std::string(kTexts).size());

  v1::TranslateResponse response;
  response.add_results()->add_hypotheses()->set_text("A C");
  response.add_results()->add_hypotheses()->set_text("D &amp; E");
  const auto rendered = texts->Render(response);
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_EQ(rendered->document, R"(["a <b>c</b>", "D & E", "D & E", "1"])");
  EXPECT_EQ(rendered->untranslated, 1);
}

TEST(DocumentTextsTest, DifferentTextsAreBounded) {
  Environment environment;
  environment.limits.max_inputs = 1;
  v1::TranslateRequest request;
  EXPECT_THAT(DocumentTexts::Read(environment, *FindDocumentFormat("json"),
                                  kTexts, &request),
              IsError(absl::StatusCode::kInvalidArgument, "file"));
}

}  // namespace
}  // namespace trivium
