#include "server/translation/protected_spans.h"

#include <gmock/gmock.h>

#include "server/translation/placeholders.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = ProtectedKind;

auto SpanErrorAt(const char* place) {
  return IsError(absl::StatusCode::kInvalidArgument, place);
}

std::vector<std::string> Found(const ProtectedSpans& spans,
                               std::string_view text) {
  std::vector<std::string> found;
  const auto of_text = spans.Find(text, nullptr);
  for (const TextSpan& span : *of_text) found.emplace_back(span.Of(text));
  return found;
}
std::vector<std::string> Found(Kind kind, std::string_view text) {
  return Found(ProtectedSpans::Create({kind}, {}).value(), text);
}

TEST(ProtectedSpansTest, FindsPrintfDirectives) {
  EXPECT_THAT(Found(Kind::kPrintf, "%s of %1$d, %-5.2f %(name)s %*d %lu"),
              ElementsAre("%s", "%1$d", "%-5.2f", "%(name)s", "%*d", "%lu"));
  EXPECT_THAT(Found(Kind::kPrintf, "100%% von %d%% bei 5%d"),
              ElementsAre("%%", "%d%%", "%d"));
  EXPECT_THAT(Found(Kind::kPrintf, "100%sicher, 50 % discount, 3%"), IsEmpty());
}

TEST(ProtectedSpansTest, FindsIcuMessages) {
  EXPECT_THAT(
      Found(Kind::kIcuMessage,
            "Hi {name}: {n, plural, =0 {no file} other {# files in {dir}}}!"),
      ElementsAre("{name}",
                  "{n, plural, =0 {no file} other {# files in {dir}}}"));
  EXPECT_THAT(Found(Kind::kIcuMessage, "It's '{not} one' {x, select, a {'}'}}"),
              ElementsAre("'{not} one'", "{x, select, a {'}'}}"));
  EXPECT_THAT(Found(Kind::kIcuMessage, "open { and } close } { {x}"),
              ElementsAre("{ and }", "{x}"));
}

TEST(ProtectedSpansTest, FindsMustacheTags) {
  EXPECT_THAT(
      Found(Kind::kMustache,
            "{{a}} {{{raw}}} {{#if x}}yes{{/if}} {no} {{ b.c }}"),
      ElementsAre("{{a}}", "{{{raw}}}", "{{#if x}}", "{{/if}}", "{{ b.c }}"));
}

TEST(ProtectedSpansTest, FindsUrls) {
  EXPECT_THAT(
      Found(Kind::kUrl,
            "See https://a.example/b?c=d&e=(f). Or (www.example.com)! "
            "\"ftp://x.y/z,\" and https://de.wikipedia.org/wiki/Ä_(B), ok."),
      ElementsAre("https://a.example/b?c=d&e=(f)", "www.example.com",
                  "ftp://x.y/z", "https://de.wikipedia.org/wiki/Ä_(B)"));
  EXPECT_THAT(Found(Kind::kUrl, "Note: this // is none"), IsEmpty());
  EXPECT_THAT(Found(Kind::kUrl, "See arXiv:2101.00001 (doi:10.1000/182)."),
              ElementsAre("arXiv:2101.00001", "doi:10.1000/182"));
  EXPECT_THAT(Found(Kind::kUrl, "A DOI: none"), IsEmpty());
}

TEST(ProtectedSpansTest, FindsEmails) {
  EXPECT_THAT(
      Found(Kind::kEmail, "Mail a.b+c@mail.example.org. Or <x@y.de>, not @me."),
      ElementsAre("a.b+c@mail.example.org", "x@y.de"));
}

TEST(ProtectedSpansTest, FindsFileNames) {
  EXPECT_THAT(
      Found(Kind::kFileName,
            "Open report-2024.pdf or src/main.cc, /etc/hosts, "
            "~/a/b.txt, ./run and C:\\Users\\a b.txt. (a.zip)"),
      ElementsAre("report-2024.pdf", "src/main.cc", "/etc/hosts", "~/a/b.txt",
                  "./run", "C:\\Users\\a", "b.txt", "a.zip"));
  EXPECT_THAT(Found(Kind::kFileName, "Read/Write and/or, e.g. this. End 1/2"),
              IsEmpty());
}

TEST(ProtectedSpansTest, FindsDomains) {
  EXPECT_THAT(
      Found(Kind::kDomain,
            "See haus.de/garten?a=b, my-house.co.uk:80, or house.com. "
            "Das Ende.Der Rest z.B. x.y"),
      ElementsAre("haus.de/garten?a=b", "my-house.co.uk:80", "house.com"));
}

TEST(ProtectedSpansTest, FindsIdentifiers) {
  EXPECT_THAT(
      Found(Kind::kIdentifier,
            "Call get_user_name(), set MAX_SIZE=10, ask @jane_doe or hunter2; "
            "#Summer2024, run `make all`."),
      ElementsAre("get_user_name()", "MAX_SIZE=10", "@jane_doe", "hunter2",
                  "#Summer2024", "`make all`"));
  EXPECT_THAT(Found(Kind::kIdentifier,
                    "_really_ COVID-19 the 1990s, 3rd #12 C# jane@b 10am A4"),
              IsEmpty());
  // Parts that are matched one by one would take quadratic time.
  std::string chain;
  for (int i = 0; i < 1000; ++i) chain += "a_b.c->a1.b::";
  EXPECT_THAT(Found(Kind::kIdentifier, chain + "d"), ElementsAre(chain + "d"));
}

TEST(ProtectedSpansTest, FindsFieldsOfTemplates) {
  EXPECT_THAT(Found(Kind::kField,
                    "Hi {name}, {0} of {1:N2} {x!r:>10} {}, #{a} @{b} %{c} "
                    "[[code]] [NAME], *|FNAME|*, %%n%% @@n@@ ##n## $$n$$ "
                    "__NAME__ :count :smile: {% if x %} {# note #} <%= n %> "
                    "<?php echo 1 ?>"),
              ElementsAre("{name}", "{0}", "{1:N2}", "{x!r:>10}", "{}", "#{a}",
                          "@{b}", "%{c}", "[[code]]", "[NAME]", "*|FNAME|*",
                          "%%n%%", "@@n@@", "##n##", "$$n$$", "__NAME__",
                          ":count", ":smile:", "{% if x %}", "{# note #}",
                          "<%= n %>", "<?php echo 1 ?>"));
  // People read what stands in brackets by itself.
  EXPECT_THAT(Found(Kind::kField,
                    "[APPLAUSE] Hello.\n[MUSIC]\n[sic] [a note] 3:2 at 10:30, "
                    "a: b :) {two words} __init__ Uhrzeit:morgen Menü:heute"),
              IsEmpty());
  EXPECT_THAT(Found(Kind::kField, "[FIRST_NAME] is here"),
              ElementsAre("[FIRST_NAME]"));
}

TEST(ProtectedSpansTest, FindsChoicesOfWords) {
  EXPECT_THAT(
      Found(Kind::kIcuChoice,
            "{n, plural, one {# apple} other {# apples}} of {name}; {a, b} at "
            "{day, date, short}"),
      ElementsAre("{n, plural, one {# apple} other {# apples}}",
                  "{day, date, short}"));
}

TEST(ProtectedSpansTest, FindsPhoneNumbersAndAccounts) {
  EXPECT_THAT(
      Found(Kind::kPhone,
            "Call +49 (0) 30 123 456 78, (030) 765-4321; 0800 123 456 or "
            "030 / 12 34 56 (089-123456). In the US 555-123-4567. "
            "Pay to DE89 3704 0044 0532 0130 00."),
      ElementsAre("+49 (0) 30 123 456 78", "(030) 765-4321", "0800 123 456",
                  "030 / 12 34 56", "089-123456", "555-123-4567",
                  "DE89 3704 0044 0532 0130 00"));
  EXPECT_THAT(Found(Kind::kPhone,
                    "1,234,567 or 1 234 567 and +20.000.000 or +3,5 at 0:30; "
                    "2026-11-26, 26.11.2026, 05/2024, 0,5 - 10, pages 12-15, "
                    "WM74 WIRD EINE GUTE ZEIT"),
              IsEmpty());
}

TEST(ProtectedSpansTest, FindsFeetInchesAndDegreesOfAMap) {
  EXPECT_THAT(Found(Kind::kMeasure,
                    "A 5'10\" man, a 27\" screen, 3/8\" at 52°31'12\"N 13°E"),
              ElementsAre("5'10\"", "27\"", "3/8\"", "52°31'12\"N", "13°E"));
  EXPECT_THAT(Found(Kind::kMeasure,
                    "He said \"I am 5\" and \"7\"; 1'000 at 23 °C, in '85."),
              IsEmpty());
}

TEST(ProtectedSpansTest, FindsNumbersWithUnits) {
  EXPECT_THAT(
      Found(Kind::kNumberWithUnit,
            "5 km, 3,5 GB; 100% or 100 %, -12 °C, 60 km/h, $19.99, 30 €, 5m²."),
      ElementsAre("5 km", "3,5 GB", "100%", "100 %", "-12 °C", "60 km/h",
                  "$19.99", "30 €", "5m²"));
  EXPECT_THAT(Found(Kind::kNumberWithUnit, "5 men in 3 houses, A4 x5 km2go"),
              IsEmpty());
}

TEST(ProtectedSpansTest, FindsPatternsOfTheCaller) {
  const auto spans =
      ProtectedSpans::Create({Kind::kPrintf}, {R"(#\d+)", "Trivium|a*"});
  ASSERT_TRUE(spans.ok());
  EXPECT_THAT(Found(*spans, "Trivium fixes #12 ä aa %s"),
              ElementsAre("Trivium", "#12", "aa", "%s"));
  EXPECT_THAT(ProtectedSpans::Create({}, {"a", "(b"}),
              SpanErrorAt("patterns[1]"));
  EXPECT_FALSE(ProtectedSpans::Create({}, {"(((a{99}){99}){99})"}).ok());
}

TEST(ProtectedSpansTest, PrefersTheFirstAndLongestAndJoinsNeighbours) {
  const auto spans =
      ProtectedSpans::Create({Kind::kIcuMessage, Kind::kUrl}, {"b+", "bb"});
  ASSERT_TRUE(spans.ok());
  EXPECT_THAT(Found(*spans, "https://x/{id}/bbb {a}{b} abbb"),
              ElementsAre("https://x/{id}/bbb", "{a}{b}", "bbb"));
}

TEST(ProtectedSpansTest, StopsWhenTheResultIsNoLongerWanted) {
  const auto spans = ProtectedSpans::Create({Kind::kUrl}, {});
  EXPECT_EQ(spans->Find("a", [] { return absl::CancelledError("gone"); })
                .status()
                .message(),
            "gone");
}

TEST(ProtectedSpansTest, BoundsTheSizeOfPatterns) {
  // RE2's instructions: a class of all letters has 1,198.
  EXPECT_TRUE(ProtectedSpans::Create({}, {R"(\pL+://\pL+)"}).ok());
  EXPECT_THAT(ProtectedSpans::Create({}, {R"(\pL{8})"}),
              SpanErrorAt("patterns[0]"));
}

TEST(ProtectedSpansTest, BoundsTheTimeOfPatterns) {
  int asked = 0;
  const auto check_alive = [&asked] {
    ++asked;
    return absl::OkStatus();
  };
  // Each byte of it may begin the last thousand: a state for each set of them.
  std::string text;
  uint32_t random = 1;
  for (int i = 0; i < 1 << 20; ++i) {
    random = random * 1664525 + 1013904223;
    text += random >> 31 ? 'a' : 'b';
  }
  const auto many_states = ProtectedSpans::Create(
      {}, std::vector<std::string>(16, "[ab]*a[ab]{1000}"));
  ASSERT_TRUE(many_states.ok()) << many_states.status();
  EXPECT_THAT(many_states->Find(text, check_alive), SpanErrorAt("patterns["));
  EXPECT_LT(asked, 2000);  // of more than 5000

  // Each match looks for a b in all that follows.
  const std::string row(1 << 20, 'a');
  const auto looks_on = ProtectedSpans::Create({}, {"a[^b]*b|a"});
  ASSERT_TRUE(looks_on.ok());
  EXPECT_THAT(looks_on->Find(row, check_alive), SpanErrorAt("patterns[0]"));
  EXPECT_THAT(Found(*looks_on, row.substr(0, 2000)),
              ElementsAre(row.substr(0, 2000)));

  const auto many = ProtectedSpans::Create({}, {"b", "a"});
  ASSERT_TRUE(many.ok());
  EXPECT_THAT(many->Find(row, check_alive), SpanErrorAt("patterns[1]"));
}

TEST(ProtectedSpansTest, FindsMatchesAcrossWindows) {
  const auto spans = ProtectedSpans::Create({}, {"<a*>", "x+$", "y+"});
  const std::string match = "<" + std::string(1022, 'a') + ">";
  for (size_t before = 0; before < 5000; before += 97) {
    const std::string text = std::string(before, '.') + match + "ä<a>..x.xx";
    ASSERT_THAT(Found(*spans, text), ElementsAre(match, "<a>", "xx")) << before;
  }
  // Longer ones: in pieces, which are one, or not at all.
  const std::string text =
      "<" + std::string(5000, 'a') + "> " + std::string(5000, 'y');
  EXPECT_THAT(Found(*spans, text), ElementsAre(text.substr(5003)));
}

TEST(ProtectedSpansTest, JoinsSentencesAtSpans) {
  const std::vector<TextSpan> sentences = {{0, 5}, {6, 10}, {12, 20}, {21, 30}};
  EXPECT_THAT(JoinAtSpans(sentences, {{4, 7}, {22, 23}}),
              ElementsAre(TextSpan{0, 10}, TextSpan{12, 20}, TextSpan{21, 30}));
  EXPECT_THAT(JoinAtSpans(sentences, {{1, 29}}), ElementsAre(TextSpan{0, 30}));
  // A span that is in no sentence, and one that begins between two.
  EXPECT_THAT(JoinAtSpans(sentences, {{10, 11}, {20, 22}}),
              ElementsAre(TextSpan{0, 5}, TextSpan{6, 10}, TextSpan{12, 20},
                          TextSpan{20, 30}));
}

TEST(ProtectedSpansTest, DoesNotCutClausesInSpans) {
  const std::string text = "aaaa (bb, cc, dd) eeee";
  EXPECT_EQ(ClauseBorder(text), 9);
  EXPECT_EQ(ClauseBorder(text, {{5, 17}}), 17);
  EXPECT_EQ(ClauseBorder(text, {{0, 22}}), 0);
}

TEST(ProtectedSpansTest, FindsWordsBetweenSpans) {
  const std::string text = "%s: open %d files (%s)!";
  const auto words =
      WordsBetween(text, {0, text.size()}, {{0, 2}, {9, 11}, {19, 21}});
  ASSERT_EQ(words.size(), 2);
  EXPECT_EQ(words[0].Of(text), ": open");
  EXPECT_EQ(words[1].Of(text), "files (");
}

TEST(PlaceholdersTest, NumbersPlaceholdersAndPutsSpansBack) {
  const std::string text = "No. Open %s for %d.";
  const auto read = WithPlaceholders(text, {4, 19}, {{9, 11}, {16, 18}}, 0);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, "Open <x1> for <x2>.");
  const Restored restored =
      RestoreSpans("Für <x2> „<x1>“ <x1>öffnen.", {"%s", "%d"}, 0);
  EXPECT_EQ(restored.text, "Für %d „%s“ %söffnen.");
  EXPECT_THAT(restored.counts, ElementsAre(2, 1));
  EXPECT_FALSE(restored.stray);
}

TEST(PlaceholdersTest, ReadsWholeNumbers) {
  std::string text;
  std::vector<TextSpan> spans;
  std::vector<std::string_view> kept(12, "%s");
  for (size_t i = 0; i < 12; ++i) {
    text += "%s ";
    spans.push_back({3 * i, 3 * i + 2});
  }
  for (int style = 0; style < kPlaceholderStyles; ++style) {
    const auto read = WithPlaceholders(text, {0, text.size()}, spans, style);
    ASSERT_TRUE(read);
    const Restored restored = RestoreSpans(*read, kept, style);
    EXPECT_EQ(restored.text, text);
    EXPECT_THAT(restored.counts, testing::Each(1));
  }
}

TEST(PlaceholdersTest, AvoidsAStyleThatTheTextHas) {
  for (const char* text : {"%1 of %s", "%s of %2", "%s0", "%s of %1"}) {
    const std::string_view view(text);
    const size_t at = view.find("%s");
    EXPECT_FALSE(WithPlaceholders(view, {0, view.size()}, {{at, at + 2}}, 2))
        << text;
    EXPECT_TRUE(WithPlaceholders(view, {0, view.size()}, {{at, at + 2}}, 0))
        << text;
  }
}

TEST(PlaceholdersTest, ReportsStrayPlaceholders) {
  const Restored restored = RestoreSpans("%7 und %1, %", {"X"}, 2);
  EXPECT_EQ(restored.text, "%7 und X, %");
  EXPECT_TRUE(restored.stray);
}

}  // namespace
}  // namespace trivium
