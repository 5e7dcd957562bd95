#include "server/translation/markup_scripts.h"

#include <gmock/gmock.h>

#include "tests/server/translation/translated_markup.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Markup HtmlOf(std::string text) {
  auto markup = Markup::Parse(MarkupFormat::kHtml, std::move(text));
  EXPECT_TRUE(markup.ok()) << markup.status();
  return *std::move(markup);
}

std::vector<std::string> OpaqueOf(const std::string& text) {
  const Markup markup = HtmlOf(text);
  std::vector<std::string> all;
  for (const TextSpan& span : markup.opaque()) {
    all.emplace_back(markup.InText(span).Of(text));
  }
  return all;
}

TEST(MarkupScriptsTest, FormulasAreOpaque) {
  EXPECT_THAT(OpaqueOf("Drink H<sub>2</sub>O now."),
              ElementsAre("H<sub>2</sub>O"));
  EXPECT_THAT(OpaqueOf("C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>, sugar"),
              ElementsAre("C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>"));
  EXPECT_THAT(OpaqueOf("20 m<sup>2</sup> and 10<sup>-3</sup>"),
              ElementsAre("m<sup>2</sup>", "10<sup>-3</sup>"));
  EXPECT_THAT(OpaqueOf("E = mc<sup>2</sup>, (CO<SUB>2</SUB>)"),
              ElementsAre("mc<sup>2</sup>", "CO<SUB>2</SUB>"));
  EXPECT_THAT(OpaqueOf("Ca(OH)<sub>2</sub> x<sub>i</sub><sup>2</sup>"),
              ElementsAre("Ca(OH)<sub>2</sub>", "x<sub>i</sub><sup>2</sup>"));
}

TEST(MarkupScriptsTest, FootnotesStandForNoWord) {
  const Markup markup = HtmlOf(
      "It is in Berlin.<sup>1</sup> We know<sup>[<a href=x>2</a>]</sup> it.");
  EXPECT_EQ(markup.plain(), "It is in Berlin. We know it.");
  EXPECT_THAT(markup.opaque(), IsEmpty());
}

TEST(MarkupScriptsTest, WordsStayWords) {
  EXPECT_EQ(HtmlOf("the 10<sup>th</sup> <sub>small words</sub>").plain(),
            "the 10th small words");
}

TEST(MarkupScriptsTest, PartnersStayPartners) {
  const Markup markup = HtmlOf("<b>H<sub>2</sub>O <i>is</i></b> <u>wet</u>");
  EXPECT_EQ(markup.plain(), "\uFFFC is wet");
  EXPECT_EQ(Translated(markup, "\uFFFC is wet", "\uFFFC ist nass",
                       {{"\uFFFC", "\uFFFC"}, {"ist", "is"}, {"nass", "wet"}}),
            "<b>H<sub>2</sub>O <i>ist</i></b> <u>nass</u>");
}

TEST(MarkupLinksTest, LinksOfAMenuAreApart) {
  const auto links = [](const std::string& text) {
    const Markup markup = HtmlOf(text);
    std::vector<std::string> all;
    for (const TextSpan& span : markup.LinksOf({0, markup.plain().size()})) {
      all.emplace_back(span.Of(markup.plain()));
    }
    return all;
  };
  EXPECT_THAT(links("<a href=1>Home</a> <a href=2>My events</a>"),
              ElementsAre("Home", "My events"));
  EXPECT_THAT(links("<b><a>Home</a></b> - <a><i>Events</i></a>."),
              ElementsAre("Home", "Events"));
  EXPECT_THAT(links("<span><a>Home</a> <a>Events</a></span>"),
              ElementsAre("Home", "Events"));
  EXPECT_THAT(links("See <a>Home</a> <a>Events</a>"), IsEmpty());
  EXPECT_THAT(links("<a>Home</a> and <a>Events</a>"), IsEmpty());
  EXPECT_THAT(links("<b>Home</b> <i>Events</i>"), IsEmpty());
  EXPECT_THAT(links("<a>Home</a>"), IsEmpty());
  EXPECT_THAT(links("<b><a>Home</a></b>"), IsEmpty());
}

std::string Times(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(MarkupLinksTest, ElementsMayBeDeep) {
  const Markup around = HtmlOf(Times(90, "<b>") + "Home" + Times(90, "</b>"));
  EXPECT_THAT(around.LinksOf({0, 4}), IsEmpty());
  const Markup beside =
      HtmlOf("<a>Home</a> " + Times(90, "<b>") + "x" + Times(90, "</b>"));
  EXPECT_THAT(beside.LinksOf({0, beside.plain().size()}), IsEmpty());
}

// Quadratic time would be a minute.
TEST(MarkupScriptsTest, BracketsBeforeAScriptMayBeMany) {
  const std::string brackets = Times(1'000'000, "(");
  EXPECT_EQ(HtmlOf(brackets + "x<sup>2</sup>").plain(),
            brackets + std::string(Markup::kObject));
}

TEST(MarkupEditTest, EditsThePlainText) {
  Markup markup = HtmlOf(
      "<p>Do&shy;n<b>a\u00ADu</b>&nbsp;ist <code>x</code> sch\u200Bön.</p>");
  const std::string plain =
      "\nDo\u00ADna\u00ADu\u00A0ist \uFFFC sch\u200Bön.\n";
  ASSERT_EQ(markup.plain(), plain);
  markup.Edit({{{3, 5}}, {{7, 9}}, {{10, 12}, " "}, {{23, 26}}});
  EXPECT_EQ(markup.plain(), "\nDonau ist \uFFFC schön.\n");
  EXPECT_THAT(markup.opaque(), ElementsAre(TextSpan{11, 14}));
  const auto of = [&markup](const std::string& word) {
    return std::string(
        markup.InText(SpanOf(markup.plain(), word)).Of(markup.text()));
  };
  EXPECT_EQ(of("Donau"), "Do&shy;n<b>a\u00ADu");
  EXPECT_EQ(of("schön"), "sch\u200Bön");
  EXPECT_EQ(of(" ist"), "&nbsp;ist");
  EXPECT_EQ(
      Translated(markup, "Donau ist \uFFFC schön.", "\uFFFC Danube is nice.",
                 {{"\uFFFC", "\uFFFC"},
                  {"Danube", "na"},
                  {"is", "ist"},
                  {"nice", "schön"}}),
      "<p><code>x</code> <b>Danube</b> is nice.</p>");
}

TEST(MarkupPlacingTest, AnElementWithWordsKeepsWords) {
  EXPECT_EQ(Translated(HtmlOf("the <b>K</b>önig came"), "the König came",
                       "the king came",
                       {{"the", "the"}, {"king", "önig"}, {"came", "came"}}),
            "the <b>king</b> came");
  EXPECT_EQ(
      Translated(HtmlOf("<a>Home</a> and <a>events</a>"), "Home and events",
                 "Start und Termine", {{"Start", "Home"}, {"Termine", "Home"}}),
      "<a>Start und</a> <a>Termine</a>");
}

TEST(MarkupPlacingTest, AWordThatComesThroughKeepsItsTags) {
  EXPECT_EQ(Translated(HtmlOf("I like Java<b>Script</b> a lot"),
                       "I like JavaScript a lot", "Sehr mag ich JavaScript",
                       {{"Sehr", "lot"},
                        {"mag", "like"},
                        {"ich", "I"},
                        {"JavaScript", "JavaScript"}}),
            "Sehr mag ich Java<b>Script</b>");
}

}  // namespace
}  // namespace trivium
