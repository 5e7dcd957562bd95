#include "server/translation/markup.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/server/translation/translated_markup.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;

Markup Html(std::string text) {
  auto markup = Markup::Parse(MarkupFormat::kHtml, std::move(text));
  EXPECT_TRUE(markup.ok()) << markup.status();
  return *std::move(markup);
}
Markup Xml(std::string text) {
  auto markup = Markup::Parse(MarkupFormat::kXml, std::move(text));
  EXPECT_TRUE(markup.ok()) << markup.status();
  return *std::move(markup);
}
absl::Status XmlStatus(const std::string& text) {
  return Markup::Parse(MarkupFormat::kXml, text).status();
}
auto MarkupErrorAt(const char* place) {
  return IsError(absl::StatusCode::kInvalidArgument, place);
}

TEST(MarkupTest, ANoBreakSpaceIsWrittenAsTheTextDoes) {
  for (const std::string space : {"&nbsp;", "&#160;", "\u00A0"}) {
    const Markup markup = Html("<p>5" + space + "km</p>");
    EXPECT_EQ(markup.Place(markup.In({1, 7}), "5\u00A0km", {}),
              "5" + space + "km");
  }
}

TEST(MarkupTest, FindsThePlainText) {
  EXPECT_EQ(Html("<h1>A</h1>\n<p>Tom &amp; <b>Ann</b>\n  go.<br>Ok &eacute;"
                 "&#33;&#x21;</p><!-- x --> y")
                .plain(),
            "\nA\nTom & Ann go.\nOk é!!\ny");
  EXPECT_EQ(Html("a<script>if (a<b) c</script>b<style>p{}</style>c").plain(),
            "ab\nc");
  EXPECT_EQ(Html("<TITLE>A <b> &lt;</TITLE>x").plain(), "\nA <b> <\nx");
  // What HTML 4 does not know stays as it is; what has no end, too.
  EXPECT_EQ(Html("&check; AT&T &copy 1 &nbsp=").plain(),
            "\uFFFC AT&T © 1 \u00A0=");
  EXPECT_EQ(Html("&#0;&#xD800;&#1114112;&#10;&#x;").plain(),
            "\uFFFC\uFFFC\uFFFC \uFFFC");
}

TEST(MarkupTest, FindsSpansOfPlainTextInTheText) {
  const Markup markup = Html("<p>Tom &amp; \n Ann</p>");
  const auto of = [&markup](const std::string& word) {
    return std::string(
        markup.InText(SpanOf(markup.plain(), word)).Of(markup.text()));
  };
  EXPECT_EQ(of("Tom & Ann"), "Tom &amp; \n Ann");
  EXPECT_EQ(of("&"), "&amp;");
  EXPECT_EQ(of("om"), "om");
  EXPECT_EQ(of("nn"), "nn");
}

TEST(MarkupTest, MovesElementsWithTheirWords) {
  EXPECT_EQ(
      Translated(Html("<p>The <b>red</b> house &amp; <i>its</i> door.</p>"),
                 "The red house & its door.", "Das Haus, rot, & seine Tür.",
                 {{"Das", "The"},
                  {"Haus", "house"},
                  {"rot", "red"},
                  {"&", "&"},
                  {"seine", "its"},
                  {"Tür", "door"}}),
      "<p>Das Haus, <b>rot</b>, &amp; <i>seine</i> Tür.</p>");
}

TEST(MarkupTest, GivesAnElementTheLongestOfItsRuns) {
  const Pairs pairs = {{"c", "C"}, {"a", "A"}, {"x", "X"},
                       {"y", "Y"}, {"z", "Z"}, {"b", "B"}};
  EXPECT_EQ(Translated(Html("<b>A B C</b> X Y Z"), "A B C X Y Z", "c a x y z b",
                       pairs),
            "<b>c a</b> x y z b");
  // One word of another's between is no reason.
  EXPECT_EQ(Translated(Html("<b>A B</b> X Y"), "A B X Y", "a x b y",
                       {{"a", "A"}, {"x", "X"}, {"b", "B"}, {"y", "Y"}}),
            "<b>a x b</b> y");
  // But never a sibling's.
  EXPECT_EQ(Translated(Html("<b>A B</b> <i>X</i> Y"), "A B X Y", "a x b y",
                       {{"a", "A"}, {"x", "X"}, {"b", "B"}, {"y", "Y"}}),
            "<b>a</b> <i>x</i> b y");
}

TEST(MarkupTest, KeepsElementsNested) {
  EXPECT_EQ(
      Translated(Html("<a href='x'>A <b>B <i>C</i></b></a> D"), "A B C D",
                 "d c b a", {{"d", "D"}, {"c", "C"}, {"b", "B"}, {"a", "A"}}),
      "d <a href='x'><b><i>c</i> b</b> a</a>");
}

TEST(MarkupTest, MovesEmptyElementsWithTheirNeighbours) {
  // A picture before "B", a comment after "A".
  EXPECT_EQ(Translated(Html("A<!--n--> <img src=p>B C"), "A B C", "c b a",
                       {{"c", "C"}, {"b", "B"}, {"a", "A"}}),
            "c <img src=p>b a<!--n-->");
  // An empty element, and one whose word was left out, which gets a free one.
  EXPECT_EQ(Translated(Html("A <i class=x></i>B <u>C</u> D"), "A B C D",
                       "a d b", {{"a", "A"}, {"d", "D"}, {"b", "B"}}),
            "a <u>d</u> <i class=x></i>b");
  EXPECT_EQ(Translated(Html("A <b><i>B</i><img></b> C"), "A B C", "", {}),
            "<b><img><i></i></b>");
  // The second best is good enough for an element that else had none.
  const Markup markup = Html("A <b>B</b>");
  const std::vector<AlignedWords> words = {
      {{0, 1}, {0, 1}, 1}, {{2, 3}, {0, 1}, 0.6f}, {{2, 3}, {2, 3}, 0.4f}};
  EXPECT_EQ(markup.Place(markup.In({0, 3}), "a b", words), "a <b>b</b>");
}

TEST(MarkupTest, LeavesTagsAroundASentenceOutOfIt) {
  const Markup markup = Html("<b> <i>A</i> B. </b> <u>C.</u>");
  EXPECT_EQ(markup.plain(), "A B. C.");
  const auto of = [&markup](const std::string& plain) {
    return std::string(
        markup.In(SpanOf(markup.plain(), plain)).source.Of(markup.text()));
  };
  EXPECT_EQ(of("A B."), "<i>A</i> B.");
  EXPECT_EQ(of("C."), "C.");
  EXPECT_FALSE(markup.In(SpanOf(markup.plain(), "C.")).marked());
}

TEST(MarkupTest, StretchesAnElementToTheBordersOfItsSentences) {
  const Markup markup = Html("A <b>B <i>C. D</i> E. F</b> G.");
  EXPECT_EQ(Translated(markup, "A B C.", "c a b.",
                       {{"c", "C"}, {"a", "A"}, {"b", "B"}}),
            "c a <b>b.<i> D</i> E. F</b> G.");
  EXPECT_EQ(Translated(markup, "D E.", "d e.", {{"d", "D"}, {"e", "E"}}),
            "A <b>B <i>C. d</i> e. F</b> G.");
  EXPECT_EQ(Translated(markup, "F G.", "g f.", {{"g", "G"}, {"f", "F"}}),
            "A <b>B <i>C. D</i> E. </b>g f.");
  EXPECT_EQ(Translated(markup, "F G.", "f g.", {{"f", "F"}, {"g", "G"}}),
            "A <b>B <i>C. D</i> E. f</b> g.");
}

TEST(MarkupTest, TreatsUntranslatedElementsAsAWord) {
  const Markup markup = Html(
      "Run <code>a &lt; b</code> on <b translate=no>Trivium</b>. "
      "<i class='icon notranslate'></i>Ok");
  EXPECT_EQ(markup.plain(), "Run \uFFFC on \uFFFC. Ok");
  EXPECT_EQ(Translated(markup, "Run \uFFFC on \uFFFC.",
                       "Auf \uFFFC \uFFFC ausführen.", {}),
            // Nothing says what stands for what.
            "Auf <code>a &lt; b</code> \uFFFC \uFFFC <b translate=no>Trivium"
            "</b> ausführen. <i class='icon notranslate'></i>Ok");
  const std::vector<AlignedWords> words = {
      {{4, 7}, {11, 14}, 1}, {{8, 11}, {4, 7}, 1}, {{12, 15}, {4, 7}, 1}};
  EXPECT_EQ(
      markup.Place(markup.In({0, 15}), "Auf \uFFFC \uFFFC \uFFFC.", words),
      "Auf <b translate=no>Trivium</b> <code>a &lt; b</code>.");
}

TEST(MarkupTest, NumbersKeepTheirTagsAndSigns) {
  // Nothing is aligned but the numbers.
  EXPECT_EQ(
      Translated(Html("From <s>$29.99</s> <b>$19.99</b> now"),
                 "From $29.99 $19.99 now", "Von 29,99 $ jetzt 19,99 $", {}),
      "Von <s>29,99 $</s> jetzt <b>19,99 $</b>");
  EXPECT_EQ(
      Translated(Html("Price: <del>10 €</del> <ins>8 €</ins>"),
                 "Price: 10 € 8 €", "Preis: 10 € 8 €", {{"Preis", "Price"}}),
      "Preis: <del>10 €</del> <ins>8 €</ins>");
  EXPECT_EQ(Translated(Html("<b>€10</b> to <i>€20</i>"), "€10 to €20",
                       "€10 bis €20", {{"bis", "to"}}),
            "<b>€10</b> bis <i>€20</i>");
}

// The alignment with weights: of the translation, the source and how much.
std::vector<AlignedWords> Weighted(
    std::string_view plain, std::string_view translation,
    const std::vector<std::tuple<std::string, std::string, float>>& weights) {
  std::vector<AlignedWords> words;
  for (const auto& [target, source, weight] : weights) {
    words.push_back(
        {SpanOf(translation, target), SpanOf(plain, source), weight});
  }
  return words;
}

TEST(MarkupTest, AWordThatItsSourceCanSpareStandsForOneThatHasNone) {
  const Markup markup = Html("The <b>house</b> is big");
  const std::string_view translation = "Das Haus ist groß";
  const auto place = [&](float is) {
    return markup.Place(markup.In({0, markup.plain().size()}), translation,
                        Weighted(markup.plain(), translation,
                                 {{"Das", "The", 0.42f},
                                  {"Haus", "house", 0.62f},
                                  {"ist", "house", 0.33f},
                                  {"ist", "is", is},
                                  {"groß", "is", 0.18f},
                                  {"groß", "big", 0.56f}}));
  };
  EXPECT_EQ(place(0.31f), "Das <b>Haus</b> ist groß");
  EXPECT_EQ(place(0.1f), "Das <b>Haus ist</b> groß");
}

TEST(MarkupTest, AWordWithNoOtherIsNotSpared) {
  const Markup markup = Html("<b>big</b> house");
  EXPECT_EQ(markup.Place(markup.In({0, 9}), "Palast",
                         Weighted(markup.plain(), "Palast",
                                  {{"Palast", "big", 0.4f},
                                   {"Palast", "house", 0.39f}})),
            "<b>Palast</b>");
}

TEST(MarkupTest, PartsOfAWordAreGivenNoOther) {
  const Markup markup = Html("<b>M</b>ünchen ist");
  EXPECT_EQ(markup.Place(markup.In({0, markup.plain().size()}), "Munich is",
                         Weighted(markup.plain(), "Munich is",
                                  {{"Munich", "M", 0.3f},
                                   {"Munich", "ünchen", 0.5f},
                                   {"is", "M", 0.3f},
                                   {"is", "ünchen", 0.4f},
                                   {"is", "ist", 0.35f}})),
            "<b>Munich</b> is");
}

TEST(MarkupTest, OnlyTheNumberItselfStandsForANumber) {
  EXPECT_EQ(Translated(Html("Call <a href=x>112</a> now"), "Call 112 now",
                       "Rufen Sie 112 an",
                       {{"Rufen", "Call"}, {"112", "112"}, {"an", "112"}}),
            "Rufen Sie <a href=x>112</a> an");
}

TEST(MarkupTest, TheEndingOfAnOrdinalKeepsItsTag) {
  const Pairs pairs = {{"Stock", "floor"}};
  EXPECT_EQ(
      Translated(Html("2<sup>nd</sup> floor"), "2nd floor", "2. Stock", pairs),
      "2<sup>.</sup> Stock");
  EXPECT_EQ(Translated(Html("2<sup>nd</sup> floor"), "2nd floor",
                       "12.2 im 2e Stock", pairs),
            "12.2 im 2<sup>e</sup> Stock");
  // Which of them is not known, or there is none.
  EXPECT_EQ(Translated(Html("2<sup>nd</sup> floor"), "2nd floor",
                       "2. und 2. Stock", pairs),
            "2. und 2.<sup></sup> Stock");
  EXPECT_EQ(Translated(Html("2<sup>nd</sup> floor"), "2nd floor",
                       "zweiter Stock", pairs),
            "zweiter<sup></sup> Stock");
}

TEST(MarkupTest, ElementsThatOnlyStylePartsAreTextsOfTheirOwn) {
  EXPECT_EQ(Html("<span>Home</span><span>About us</span>").plain(),
            "Home\nAbout us");
  EXPECT_EQ(Html("<time>10:30</time><span>Monday</span>").plain(),
            "10:30\nMonday");
  EXPECT_EQ(Html("<b>Name:</b>Ann <i>A.</i><u>Ok</u>").plain(),
            "Name:\nAnn A.\nOk");
  const Markup markup = Html("<p><b>Name:</b><i>The <u>house</u></i></p>");
  EXPECT_EQ(Translated(markup, "The house", "Haus, das",
                       {{"Haus", "house"}, {"das", "The"}}),
            "<p><b>Name:</b><i><u>Haus</u>, das</i></p>");
  for (const char* const text :
       {"Java<b>Script</b>", "<b>Java</b>Script", "<b>un</b><i>happy</i>",
        "<b>www.</b>example.com", "<b>3</b><i>D</i>", "<b>H</b><i>T</i>",
        "<b>A </b><i>Bc</i>"}) {
    EXPECT_EQ(Html(text).plain().find('\n'), std::string::npos) << text;
  }
}

TEST(MarkupTest, PassesMalformedHtmlThrough) {
  for (const char* text : {"A <b>B",
                           "A</b> B",
                           "<i>A <b>B</i> C</b>",
                           "A <b",
                           "A <b title=\"x>",
                           "<p>A<p>B</div>",
                           "A < B > C",
                           "A <!-- B",
                           "A <? B",
                           "A </ B",
                           "</",
                           "<",
                           "A <code>B",
                           "<script>A",
                           "A &",
                           "<b/>A",
                           "A <",
                           "<a<b>C",
                           "<table><b>A</table>B</b>",
                           "<![CDATA[x]]>",
                           "\xff<b>\xfe</b>"}) {
    const Markup markup = Html(text);
    std::string out;
    size_t at = 0;
    // Sentences are lines here.
    const std::string& plain = markup.plain();
    for (size_t begin = 0; begin <= plain.size();) {
      const size_t end = std::min(plain.find('\n', begin), plain.size());
      const TextSpan span = WithoutWhiteSpace(plain, {begin, end});
      begin = end + 1;
      if (span.begin == span.end) continue;
      std::vector<AlignedWords> words;
      for (size_t i = span.begin; i < span.end; ++i) {
        words.push_back({{i - span.begin, i - span.begin + 1}, {i, i + 1}, 1});
      }
      const Markup::Sentence sentence = markup.In(span);
      ASSERT_LE(at, sentence.source.begin) << text;
      out.append(markup.text(), at, sentence.source.begin - at);
      out += markup.Place(sentence, span.Of(plain), words);
      at = sentence.source.end;
    }
    out.append(markup.text(), at);
    std::string expected = text;
    if (expected == "A < B > C") expected = "A &lt; B &gt; C";
    if (expected == "A <") expected = "A &lt;";
    if (expected == "<") expected = "&lt;";
    if (expected == "</") expected = "&lt;/";
    if (expected == "A &") expected = "A &amp;";
    EXPECT_EQ(out, expected);
  }
}

TEST(MarkupTest, TreatsXmlElementsWithinTextAsPartOfIt) {
  const Markup markup = Xml(
      "<?xml version='1.0'?>\n<!DOCTYPE d SYSTEM \"a>b\">\n<d><t>A <x:b>B</x:b>"
      "<n/></t>\n<t><b>C</b></t><l its:translate='no'>D</l></d>\n");
  EXPECT_EQ(markup.plain(), "\nA B\nC\n");
  EXPECT_EQ(Translated(markup, "A B", "b a", {{"b", "B"}, {"a", "A"}}),
            "<?xml version='1.0'?>\n<!DOCTYPE d SYSTEM \"a>b\">\n<d><t><x:b>b"
            "</x:b> a<n/></t>\n<t><b>C</b></t><l its:translate='no'>D</l></d>"
            "\n");
  // A fragment.
  EXPECT_EQ(Xml("A <g id='1'>B</g>").plain(), "A B");
  EXPECT_EQ(Xml("<s>A</s><s>B</s>").plain(), "\nA\nB\n");
}

TEST(MarkupTest, ReadsCdataAsTextWithoutEscapes) {
  const Markup markup = Xml("<s><![CDATA[A & B]]></s><s>C <![CDATA[D]]></s>");
  EXPECT_EQ(markup.plain(), "\nA & B\nC D\n");
  EXPECT_EQ(Translated(markup, "A & B", "b & a ]]> <", {}),
            "<s><![CDATA[b & a ]]]]><![CDATA[> <]]></s><s>C <![CDATA[D]]></s>");
  EXPECT_EQ(Translated(markup, "C D", "< d", {{"d", "D"}}),
            "<s><![CDATA[A & B]]></s><s>&lt; <![CDATA[d]]></s>");
  EXPECT_EQ(Translated(Xml("<s><![CDATA[A]]> &lt; B</s>"), "A < B", "a < b & a",
                       {{"a", "A"}, {"<", "<"}, {"b", "B"}}),
            "<s><![CDATA[a]]> &lt; b &amp; a</s>");
  EXPECT_EQ(Translated(Xml("<![CDATA[A]]>&lt;"), "A<", "<", {}),
            "<![CDATA[]]>&lt;");
  EXPECT_EQ(Xml("<s>A <![CDATA[<b>B</b>]]></s>").plain(), "\nA \uFFFC\n");
  EXPECT_EQ(Xml("<s><![CDATA[ ]]></s>").plain(), "\n");
}

TEST(MarkupTest, RefusesMalformedXml) {
  EXPECT_THAT(XmlStatus("<a>\n<b></a>"), MarkupErrorAt("byte 9, line 2"));
  EXPECT_THAT(XmlStatus("A & B"), MarkupErrorAt("byte 3, line 1"));
  EXPECT_THAT(XmlStatus("A &eacute;"), MarkupErrorAt("entity"));
  EXPECT_THAT(XmlStatus("A</x><x>"), MarkupErrorAt("line 1"));
  EXPECT_THAT(XmlStatus("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"),
              MarkupErrorAt("declarations"));
}

TEST(MarkupTest, BoundsTheDepthOfElements) {
  const auto nested = [](int depth) {
    std::string text = "x";
    for (int i = 0; i < depth; ++i) text = "<b>" + text + "</b>";
    return "a" + text;
  };
  EXPECT_EQ(Html(nested(100)).plain(), "ax");
  EXPECT_EQ(Xml(nested(100)).plain(), "ax");
  EXPECT_THAT(XmlStatus(nested(101)), MarkupErrorAt("byte 301"));
  // Those without partner are not nested.
  std::string open = "a";
  for (int i = 0; i < 19000; ++i) open += "<b>x<i><u></b>";
  EXPECT_EQ(Html(open).plain().size(), 19001);
  EXPECT_THAT(Markup::Parse(MarkupFormat::kHtml, open + open),
              MarkupErrorAt("100000"));
}

// Tags of a text with what is in each, as "b1(i2()n3)".
std::string Nesting(const std::string& text, bool* well_formed) {
  std::vector<std::pair<std::string, std::vector<std::string>>> open = {{}};
  *well_formed = true;
  const auto close = [&open] {
    auto [name, inner] = open.back();
    open.pop_back();
    std::sort(inner.begin(), inner.end());
    std::string all = name + "(";
    for (const std::string& one : inner) all += one;
    return all + ")";
  };
  for (size_t at = text.find('<'); at != std::string::npos;
       at = text.find('<', at + 1)) {
    const size_t end = text.find('>', at);
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag[0] == '/') {
      if (open.size() < 2 || open.back().first != tag.substr(1)) {
        *well_formed = false;
        return "";
      }
      std::string all = close();
      open.back().second.push_back(all);
    } else if (tag.ends_with("/")) {
      open.back().second.push_back(tag);
    } else {
      open.push_back({tag, {}});
    }
  }
  *well_formed = open.size() == 1;
  return close();
}

TEST(MarkupTest, KeepsTagsForAnyAlignment) {
  std::mt19937 random(7);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 3000; ++round) {
    // Words, elements, and things without words, in sentences of lines that
    // elements may reach across.
    std::string text;
    std::vector<std::string> open;
    const int steps = 1 + below(30);
    for (int i = 0; i < steps; ++i) {
      const int what = below(10);
      const std::string name = "t" + std::to_string(i);
      if (what < 3) {
        text += (below(2) == 0 ? " " : "") + std::string("w");
      } else if (what < 5) {
        text += "<" + name + ">";
        open.push_back(name);
      } else if (what < 7 && !open.empty()) {
        text += "</" + open.back() + ">";
        open.pop_back();
      } else if (what == 7) {
        text += "<" + name + "/>";
      } else if (what == 8) {
        text += ". ";
      } else {
        text += " x y";
      }
    }
    while (!open.empty()) {
      text += "</" + open.back() + ">";
      open.pop_back();
    }
    text += " z";  // an element in it is in the midst of text
    const Markup markup = Xml(text);
    const std::string& plain = markup.plain();
    std::string out;
    size_t at = 0;
    for (size_t begin = 0; begin < plain.size();) {
      const size_t end =
          std::min(plain.find(". ", begin), plain.size() - 1) + 1;
      const TextSpan span = WithoutWhiteSpace(plain, {begin, end});
      begin = end;
      if (span.begin == span.end) continue;
      const int words = below(8);
      std::string translation;
      std::vector<AlignedWords> aligned;
      for (int i = 0; i < words; ++i) {
        if (i > 0 && below(4) > 0) translation += ' ';
        const size_t from = translation.size();
        translation += below(6) == 0 ? "," : "v";
        for (int links = below(3); links > 0; --links) {
          const size_t source =
              span.begin + below(static_cast<int>(span.end - span.begin));
          aligned.push_back({{from, translation.size()},
                             {source, source + 1},
                             0.1f * static_cast<float>(1 + below(9))});
        }
      }
      const Markup::Sentence sentence = markup.In(span);
      ASSERT_LE(at, sentence.source.begin) << text;
      out.append(text, at, sentence.source.begin - at);
      out += markup.Place(sentence, translation, aligned);
      at = sentence.source.end;
    }
    out.append(text, at);
    bool well_formed = false;
    const std::string before = Nesting(text, &well_formed);
    ASSERT_TRUE(well_formed) << text;
    ASSERT_EQ(Nesting(out, &well_formed), before) << text << "\n" << out;
    ASSERT_TRUE(well_formed) << text << "\n" << out;
  }
}

TEST(MarkupTest, PlacesTagsWithoutWordsInLinearTime) {
  constexpr size_t kCount = 30'000;
  for (const auto& [format, tag] : {std::pair{MarkupFormat::kHtml, "<i></i>"},
                                    {MarkupFormat::kMarkdown, "[](x)"}}) {
    std::string tags;
    for (size_t i = 0; i < kCount; ++i) tags += tag;
    const auto markup = Markup::Parse(format, "One " + tags + " two three");
    ASSERT_TRUE(markup.ok()) << markup.status();
    const TextSpan span =
        WithoutWhiteSpace(markup->plain(), {0, markup->plain().size()});
    const std::string out =
        markup->Place(markup->In(span), "Eins zwei drei", {});
    EXPECT_NE(out.find("drei"), out.npos);
    EXPECT_GE(out.size(), tags.size());
  }
}

}  // namespace
}  // namespace trivium
