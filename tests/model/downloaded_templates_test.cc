// The chat templates of published models, which are downloaded and not part of
// the repository. CTest runs this test separately and shows it as skipped
// without them. tests/fuzz/compare_templates compares their results with
// jinja2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "model/chat_template.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(DownloadedTemplatesTest, ParseOrAreRefusedByName) {
  const std::filesystem::path material = "../shared/material/chat_templates";
  if (!std::filesystem::exists(material)) {
    GTEST_SKIP() << "skipped: there is no folder " << material;
  }
  int templates = 0, rendered = 0;
  for (const auto& entry : std::filesystem::directory_iterator(material)) {
    if (entry.path().extension() != ".jinja") continue;
    SCOPED_TRACE(entry.path().filename());
    ++templates;
    const auto parsed =
        ChatTemplate::Parse(ReadWholeFile(entry.path()),
                            {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("line "));
      continue;
    }
    const auto prompt_texts = parsed->Render(
        {.messages = R"([{"role": "user", "content": "Hello, <s>"}])",
         // Variables that one or the other template requires.
         .tools = "[]",
         .variables = R"({"functions": "", "datetime": ""})"});
    ASSERT_TRUE(prompt_texts.ok()) << prompt_texts.status();
    bool has_message = false;
    for (const PromptText& prompt_text : *prompt_texts) {
      has_message |=
          !prompt_text.from_template && prompt_text.text == "Hello, <s>";
    }
    EXPECT_TRUE(has_message);
    ++rendered;
  }
  EXPECT_EQ(templates, 55);
  EXPECT_EQ(rendered, 55);
}

}  // namespace
}  // namespace trivium
