#include "server/translation/pipeline/links_stage.h"

#include "base/cpu_time.h"
#include "server/translation/pipeline/span_protection.h"
#include "tests/server/translation/pipeline/stage_fixture.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LinksStageTest : public StageTest {
 protected:
  static std::vector<std::string> Protected(const std::string& text) {
    const TranslationJob job =
        Opened(LinksStage([] { return absl::OkStatus(); }), text);
    EXPECT_EQ(job.text_stages.contains(TextStage::kLinks),
              !job.protected_spans.empty());
    std::vector<std::string> spans;
    for (const TextSpan& span : job.protected_spans) {
      spans.emplace_back(span.Of(text));
    }
    return spans;
  }
};

TEST_F(LinksStageTest, WhatIsMeantForProgramsIsProtected) {
  EXPECT_THAT(Protected("Mail info@haus.de or see https://haus.de/a?b=c#d, "
                        "haus.de, sommer.txt and hunter2."),
              ElementsAre("info@haus.de", "https://haus.de/a?b=c#d", "haus.de",
                          "sommer.txt", "hunter2"));
}

TEST_F(LinksStageTest, CodeIsProtected) {
  EXPECT_THAT(Protected("Set $HOME or ${TMP}, then $(PWD) and %TEMP%; run "
                        "-DTYPE=RELEASE --level=3 with LANG=C."),
              ElementsAre("$HOME", "${TMP}", "$(PWD)", "%TEMP%",
                          "-DTYPE=RELEASE", "--level=3", "LANG=C"));
  EXPECT_THAT(Protected("Call getUserName(), main() or a.b() of std::vector, "
                        "x->y and sendMail; &copy; &#169; are signs."),
              ElementsAre("getUserName()", "main()", "a.b()", "std::vector",
                          "x->y", "sendMail", "&copy;", "&#169;"));
}

TEST_F(LinksStageTest, VersionsFlagsAndFieldsAreProtected) {
  EXPECT_THAT(Protected("Version v2.4.1-rc1 or 2.0.1-beta3 with --verbose."),
              ElementsAre("v2.4.1-rc1", "2.0.1-beta3", "--verbose"));
  EXPECT_THAT(Protected("Hi {name}, {{count}} of %d files in %1$s."),
              ElementsAre("{name}", "{{count}}", "%d", "%1$s"));
}

TEST_F(LinksStageTest, CallsTagsAndLinesOfCodeAreProtected) {
  EXPECT_THAT(
      Protected("Use foo(bar, baz), print(\"hi\") and <b>bold</b> here."),
      ElementsAre("foo(bar, baz)", "print(\"hi\")", "<b>", "</b>"));
  for (const char* const line :
       {"$ git commit -m fix", "if (x > 0) { return y; }", "const a = 5;",
        "SELECT name FROM users WHERE id = 5;", "return false;",
        "for (int i = 0; i < n; ++i) {", "#include <vector>",
        "def main(args):", "import x from 'y';"}) {
    EXPECT_THAT(Protected(line), ElementsAre(line));
  }
  for (const char* const prose :
       {"Select a seat from the list.", "If (and only if) it rains; we stay.",
        "$ 5 was paid", "Return the book;", "import taxes from abroad",
        "a < b and c > d", "child(ren), him(self)", "a 50%-increase, 5 % d",
        "SELECT A SEAT FROM THE MAP", "For (almost) all; yes",
        "Let us go; now;"}) {
    EXPECT_THAT(Protected(prose), IsEmpty()) << prose;
  }
}

TEST_F(LinksStageTest, WordsWithBarsAreProtected) {
  EXPECT_THAT(Protected("The P(A|B), a|b || c and foo|bar."),
              ElementsAre("P(A|B)", "a|b", "||", "foo|bar"));
  EXPECT_THAT(Protected("Home | Events|About us | 1|The house. |"), IsEmpty());
}

TEST_F(LinksStageTest, WordsAndNumbersAreNot) {
  EXPECT_THAT(Protected("Das heißt, d.h. z.B. und/oder um 10:30 für 5,50 €."),
              IsEmpty());
  EXPECT_THAT(Protected("Wait...what? The end.He left at 3 p.m. in the 1990s."),
              IsEmpty());
  EXPECT_THAT(Protected("Lehrer(innen) kosten $5 = 100% & mehr; A&B; McDonald "
                        "wrote \"well-known\" -- and left (as always)."),
              IsEmpty());
}

TEST_F(LinksStageTest, ManySpansOfALongLineTakeLinearTime) {
  TranslationJob job;
  job.text.text = std::string(size_t{4} << 20, 'a');
  std::vector<TextSpan> found;
  for (size_t at = 0; at < job.text.text.size(); at += 8) {
    found.push_back({at, at + 4});
  }
  const absl::Duration before = ThreadCpuTime();
  AddProtectedSpans(found, &job);
  const absl::Duration time = ThreadCpuTime() - before;
  EXPECT_EQ(job.protected_spans.size(), found.size());
  // A search for the end of the line took 30 s and more.
  EXPECT_LT(time, absl::Seconds(10));
}

}  // namespace
}  // namespace trivium
